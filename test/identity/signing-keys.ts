/** Private keys of the gateway, in PEM. */
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'

const pair = promisify(generateKeyPair)
const pem = (key: { export: (options: { format: 'pem', type: 'pkcs8' }) => string | Buffer }): string => key.export({ format: 'pem', type: 'pkcs8' }).toString()

export interface PemKeys { readonly ec: string, readonly ed: string, readonly rsa: string, readonly publicEd: string }

export async function identityKeys (): Promise<PemKeys> {
  const [ec, ed, rsa] = await Promise.all([pair('ec', { namedCurve: 'P-256' }), pair('ed25519'), pair('rsa', { modulusLength: 2_048 })])
  return {
    ec: pem(ec.privateKey),
    ed: pem(ed.privateKey),
    rsa: pem(rsa.privateKey),
    publicEd: ed.publicKey.export({ format: 'pem', type: 'spki' }).toString()
  }
}
