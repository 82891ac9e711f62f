/** Prints the messages of {@link CREDENTIALS_ROWS}. */
import t from 'tap'
import { identityKeys } from '../identity/signing-keys.js'
import { CREDENTIALS_ROWS, credentialFiles, credentialLines } from './credentials-rows.js'

t.test('messages about upstream.credentials', async t => {
  const directory = credentialFiles(t, await identityKeys())
  for (const [name, text, ...expected] of CREDENTIALS_ROWS) t.same(credentialLines(text, directory), expected, name)
})
