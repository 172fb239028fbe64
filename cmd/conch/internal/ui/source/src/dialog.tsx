// Dialogs: what an action will do is said first, then the token that may is asked for, then it is done.
import { signal, useSignal } from '@preact/signals'
import { type ComponentChildren, Fragment, type JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { act, lockUp, operating, type Refusal, unlock } from './api'
import { session } from './store'
import { plain } from './text'

/**
 * asking holds what somebody has asked for, and draws its dialog. A dialog tells of its end late, when something else may have been asked
 * for, or the same again: it ends itself alone.
 */
export function asking<T>() {
  const asked = signal<{ what: T; nth: number } | null>(null)
  let nth = 0
  return {
    ask: (what: T): void => { asked.value = { what, nth: ++nth } },
    Asked({ draw }: { draw: (what: T, close: () => void) => JSX.Element }) {
      const now = asked.value
      return now ? <Fragment key={now.nth}>{draw(now.what, () => { if (asked.value === now) asked.value = null })}</Fragment> : null
    },
  }
}

/** Dialog is one that is open, until it is shut or the page that has it is left. */
export function Dialog({ title, close, kind, children }: { title: ComponentChildren; close: () => void; kind?: string; children: (shut: () => void) => ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    box.current?.showModal()
    return close
  }, [])
  return <dialog ref={box} onClose={close} class={kind} aria-labelledby="asked"><h2 id="asked">{title}</h2>{children(() => box.current?.close())}</dialog>
}

/** needsOperating tells whether an action needs another token than the one that reads. */
export const needsOperating = () => session.value?.tokens === true && session.value.may !== 'operate' && operating.value === ''

/** asker is what a log or the history names as the one that asked. */
export const asker = () => (session.value?.tokens ? 'the name of your token' : `“${plain(session.value?.name || 'local')}”`)

/** whyRefused says why an action was refused. A token that is known no more is forgotten. */
export function whyRefused(e: unknown): string {
  const r = e as Refusal
  if (r.status === 401) lockUp()
  return plain(r.status === 403 ? `Refused: ${r.message}. Ask again with a token that may operate.` : r.message)
}

/** Deed is an action. */
export interface Deed {
  title: ComponentChildren
  says: ComponentChildren[] // what it will do
  verb: string
  waits?: string // instead of the verb, until the node has answered
  path: string
  body: () => unknown // or a text that says what is wrong
  done: (got: Record<string, unknown>) => ComponentChildren
  fields?: ComponentChildren
  changed?: ComponentChildren // why what is said holds no more
  may: boolean
  patience?: number
}

/** Question says what an action will do, and does it. */
export function Question({ deed, close }: { deed: Deed; close: () => void }) {
  const state = useSignal<{ is: 'open' | 'asking' | 'done' | 'refused'; text: ComponentChildren }>({ is: 'open', text: '' })
  const send = async () => {
    const body = deed.body()
    if (typeof body === 'string') {
      state.value = { is: 'refused', text: body }
      return
    }
    state.value = { is: 'asking', text: '' }
    try {
      state.value = { is: 'done', text: deed.done(await act<Record<string, unknown>>(deed.path, body, deed.patience ?? 12_000)) }
    } catch (e) {
      state.value = { is: 'refused', text: whyRefused(e) }
    }
  }
  const { is, text } = state.value
  const changed = is === 'open' && Boolean(deed.changed)
  return (
    <Dialog title={deed.title} close={close}>{(shut) => (
      <>
        {is === 'done' ? <p role="status" class="good">✓ {text}</p> : (
          <>
            <ul class="what">{deed.says.map((s, i) => <li key={i}>{s}</li>)}</ul>
            {deed.fields}
            {changed ? <p class="warn" role="alert">! {deed.changed}</p> : null}
            {is === 'refused' ? <p class="bad" role="alert">✕ {text}</p> : null}
          </>
        )}
        {needsOperating() && is !== 'done' ? <Unlock /> : (
          <div class="buttons">
            <button type="button" onClick={shut}>{is === 'done' ? 'Close' : 'Leave it'}</button>
            {is === 'done' ? null : <button type="button" class="main" disabled={!deed.may || changed || is === 'asking'} onClick={send}>{is === 'asking' ? deed.waits ?? 'Asking…' : deed.verb}</button>}
          </div>
        )}
      </>
    )}</Dialog>
  )
}

/** Unlock asks for the token that may operate. */
export function Unlock() {
  const field = useRef<HTMLInputElement>(null)
  const keep = (e: Event) => {
    e.preventDefault()
    const token = field.current?.value.trim()
    if (token) unlock(token)
  }
  return (
    <form onSubmit={keep}>
      <label>Token that may operate <input ref={field} type="password" autocomplete="off" spellcheck={false} required /></label>
      <p class="small faint">It stays in the memory of this tab, for ten minutes.</p>
      <div class="buttons"><button type="submit" class="main">Unlock</button></div>
    </form>
  )
}
