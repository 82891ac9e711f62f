/** Exchanges a credential for a session cookie (`server.adminAccess`). */
import { signIn } from './api.js'

const form = document.getElementById('sign-in')
const user = document.getElementById('user')
const credential = document.getElementById('credential')
const problem = document.getElementById('problem')

form.addEventListener('submit', async event => {
  event.preventDefault()
  problem.textContent = ''
  try {
    await signIn({ user: user.value, credential: credential.value })
    location.replace('./')
  } catch (error) {
    problem.textContent = `Not signed in: ${error.message}`
    credential.select()
  }
})
credential.focus()
