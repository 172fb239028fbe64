// Handing a scope over: first what it will do, then the token that may, then the asking.
import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { act, lockUp, operating, type Refusal, unlock } from './api'
import type { Row } from './model'
import { Holder } from './parts'
import { live, rows, session } from './store'
import { Name, plain, span } from './text'

/** asked is the scope whose handover is being asked for, as it was then. */
const asked = signal<Row | null>(null)

export const mayHandOver = (r: Row) => live.value && r.state !== 'nobody' && r.state !== 'released' && r.epoch > 0

/** HandOver opens the question. */
export function HandOver({ row }: { row: Row }) {
  return <button type="button" disabled={!mayHandOver(row)} onClick={() => (asked.value = row)}>Hand over…</button>
}

/** needsOperating tells whether an action needs another token than the one that reads. */
export const needsOperating = () => session.value?.tokens === true && session.value.may !== 'operate' && operating.value === ''

const longest = 30_000

/** HandOverDialog is on the page once. */
export function HandOverDialog() {
  const row = asked.value
  return row ? <Question key={row.scope} row={row} /> : null
}

function Question({ row }: { row: Row }) {
  const box = useRef<HTMLDialogElement>(null)
  const to = useSignal('')
  const state = useSignal<{ is: 'open' | 'asking' | 'done' | 'refused'; text: string }>({ is: 'open', text: '' })
  useEffect(() => box.current?.showModal(), [])
  const close = () => (asked.value = null)
  const present = rows.value.find((r) => r.scope === row.scope)
  const changed = present !== undefined && present.epoch !== row.epoch && state.value.is === 'open'
  const others = row.candidates.filter((c) => c !== row.holder)
  const send = async () => {
    state.value = { is: 'asking', text: '' }
    try {
      const got = await act<{ actor: string }>('v1/drain', { scope: row.scope, if_epoch: row.epoch, timeout_ms: longest, ...(to.value ? { to: to.value } : {}) }, longest + 15_000)
      state.value = { is: 'done', text: `It was given up, and the history names ${got.actor} as the one that asked.` }
    } catch (e) {
      const r = e as Refusal
      if (r.status === 401) lockUp()
      state.value = { is: 'refused', text: r.status === 403 ? `Refused: ${r.message}. Ask again with a token that may operate.` : r.message }
    }
  }
  return (
    <dialog ref={box} onClose={close} aria-labelledby="handover">
      <h2 id="handover">Hand over <Name of={row.scope} /></h2>
      {state.value.is === 'done' ? <p role="status" class="good">✓ {state.value.text}</p> : (
        <>
          <ul class="what">
            <li><Holder of={row.holder} /> leads at epoch <b>{row.epoch}</b>. It shuts its gate at once and lets acts under way end, for {span(longest)} at most.</li>
            <li>{to.value ? <>Then <Holder of={to.value} leads={false} /> leads: others wait for a moment.</>
              : others.length > 0 ? <>Then {others.length === 1 ? <Holder of={others[0]!} leads={false} /> : `the first of ${others.length} other candidates`} leads.</>
              : <b>There is no other candidate: nobody leads until one comes, or <Name of={row.holder} /> again.</b>}</li>
            <li>If acts do not end in time, the successor waits {row.lease_ms ? span(row.lease_ms) : 'a lease'} as after a crash.</li>
            <li>The history shows {session.value?.tokens ? 'the name of your token' : <>“{session.value?.name || 'local'}”</>} as the one that asked.</li>
          </ul>
          {others.length > 0 ? (
            <label>To <select value={to.value} onChange={(e) => (to.value = e.currentTarget.value)}>
              <option value="">the first that is ready</option>
              {others.map((c) => <option value={c}>{plain(c)}</option>)}
            </select></label>
          ) : null}
          {changed ? <p class="warn" role="alert">! It has changed hands since: epoch {present!.epoch}. Close this and look again.</p> : null}
          {state.value.is === 'refused' ? <p class="bad" role="alert">✕ {state.value.text}</p> : null}
        </>
      )}
      {needsOperating() && state.value.is !== 'done' ? <Unlock /> : (
        <div class="buttons">
          <button type="button" onClick={() => box.current?.close()}>{state.value.is === 'done' ? 'Close' : 'Leave it'}</button>
          {state.value.is === 'done' ? null : (
            <button type="button" class="main" disabled={!mayHandOver(row) || changed || state.value.is === 'asking'} onClick={send}>
              {state.value.is === 'asking' ? 'Waiting for acts to end…' : 'Hand over'}
            </button>
          )}
        </div>
      )}
    </dialog>
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
