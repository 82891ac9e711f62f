/** Prints the messages of {@link DELEGATION_ROWS}. */
import t from 'tap'
import { identityKeys } from '../identity/signing-keys.js'
import { credentialFiles, credentialLines } from './credentials-rows.js'
import { DELEGATION_ROWS } from './delegation-rows.js'

t.test('messages about delegation', async t => {
  const directory = credentialFiles(t, await identityKeys())
  for (const [name, text, ...expected] of DELEGATION_ROWS) t.same(credentialLines(text, directory), expected, name)
})
