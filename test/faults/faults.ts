/** What an agent can do instead of answering well, once its request is there. */
import { answer, chunk, headOf } from './faulty-agent.js'
import type { Asked, Fault } from './faulty-agent.js'

export type FaultName =
  | 'hangs'
  | 'closes before the answer'
  | 'resets before the answer'
  | 'resets within the head'
  | 'resets within the body'
  | 'closes within the body'
  | 'stops within the body'
  | 'resets after the answer'
  | 'closes after the answer, unannounced'
  | 'answers without a length, and closes'
  | 'answers garbage'
  | 'answers a page, with an error'
  | 'answers a redirect'
  | 'breaks its chunks'
  | 'sends more than its length'
  | 'answers before it has read, and reads no more'

/** The answer as far as the middle of its body, or of its second event. */
function half ({ socket, good, streams }: Asked): void {
  const [first = '', second = ''] = good.pieces
  if (streams) socket.write(`${headOf(good.type)}transfer-encoding: chunked\r\n\r\n${chunk(first)}${chunk(second.slice(0, 20))}`)
  else socket.write(`${headOf(good.type)}content-length: ${first.length}\r\n\r\n${first.slice(0, 20)}`)
}

/** Waits until what was written is on the wire. */
const afterwards = (asked: Asked, act: (asked: Asked) => void): void => {
  asked.socket.write('', () => {
    setTimeout(() => {
      act(asked)
    }, 20)
  })
}

function answerPage (socket: Asked['socket'], status: string): void {
  const page = '<!DOCTYPE html><pre>Error at /app/node_modules/x.js</pre>'
  socket.write(`${headOf('text/html', status)}content-length: ${page.length}\r\n\r\n${page}`)
}

export const FAULTS: Readonly<Record<FaultName, Fault>> = {
  hangs: { act: () => {} },
  'closes before the answer': {
    act: ({ socket }) => {
      socket.end()
    }
  },
  'resets before the answer': {
    act: ({ socket }) => {
      socket.resetAndDestroy()
    }
  },
  'resets within the head': {
    act: asked => {
      asked.socket.write('HTTP/1.1 200 OK\r\ncontent-ty')
      afterwards(asked, ({ socket }) => {
        socket.resetAndDestroy()
      })
    }
  },
  'resets within the body': {
    act: asked => {
      half(asked)
      afterwards(asked, ({ socket }) => {
        socket.resetAndDestroy()
      })
    }
  },
  'closes within the body': {
    act: asked => {
      half(asked)
      afterwards(asked, ({ socket }) => {
        socket.end()
      })
    }
  },
  'stops within the body': { act: half },
  'resets after the answer': {
    act: asked => {
      answer(asked.socket, asked.good)
      afterwards(asked, ({ socket }) => {
        socket.resetAndDestroy()
      })
    }
  },
  'closes after the answer, unannounced': {
    act: asked => {
      answer(asked.socket, asked.good)
      asked.socket.end()
    }
  },
  'answers without a length, and closes': {
    act: ({ socket, good }) => {
      socket.end(`${headOf(good.type)}\r\n${good.pieces.join('')}`)
    }
  },
  'answers garbage': {
    act: ({ socket }) => {
      socket.write('\x16\x03\x01 220 nonsense\r\n\r\n')
    }
  },
  'answers a page, with an error': {
    act: ({ socket }) => {
      answerPage(socket, '500 Internal Server Error')
    }
  },
  'answers a redirect': {
    act: ({ socket }) => {
      socket.write('HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n')
    }
  },
  'breaks its chunks': {
    act: ({ socket, good }) => {
      socket.write(`${headOf(good.type)}transfer-encoding: chunked\r\n\r\n${chunk(good.pieces[0] ?? '')}zz\r\n`)
    }
  },
  'sends more than its length': {
    act: ({ socket, good }) => {
      const body = good.pieces.join('')
      socket.write(
        `${headOf(good.type)}content-length: ${body.length}\r\n\r\n${body}HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n"token-evil"`
      )
    }
  },
  'answers before it has read, and reads no more': {
    at: 'head',
    act: ({ socket }) => {
      socket.write(`${headOf('application/json', '413 Content Too Large')}content-length: 14\r\n\r\n{"early":true}`)
    }
  }
}
