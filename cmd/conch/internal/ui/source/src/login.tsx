// The token that may read, asked for only if the node wants one.
import { useRef } from 'preact/hooks'
import { fault } from './store'
import { admitted } from './stream'

export function Login() {
  const field = useRef<HTMLInputElement>(null)
  const enter = (e: Event) => {
    e.preventDefault()
    const token = field.current?.value.trim()
    if (token) admitted(token)
  }
  return (
    <form class="panel login" onSubmit={enter}>
      <h2>This node asks for a token</h2>
      <p class="faint">One that may read is enough. It stays in this tab, and goes to tabs that you open from here.</p>
      <label>Token <input ref={field} type="password" autocomplete="off" spellcheck={false} required autofocus /></label>
      {fault.value ? <p role="alert" class="bad">✕ {fault.value}</p> : null}
      <div class="buttons"><button type="submit" class="main">Enter</button></div>
    </form>
  )
}
