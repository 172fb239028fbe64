// What the pages of services have in common.
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { act, lockUp, type Refusal } from '../api'
import { needsOperating, Unlock } from '../handover'
import { since } from '../parts'
import { headline, holders, how, hueOf } from '../store'
import { Name, plain, span } from '../text'
import type { Sight } from './reading'

export type Tone = 'good' | 'warn' | 'bad' | 'calm' | 'unknown'

export interface Said { tone: Tone; sign: string; text: string; more: string }

/** Sentence is the first line of a page: is all well, in words. */
export function Sentence({ title, sight, said, database = false }: { title: string; sight: Sight; said: Said | null; database?: boolean }) {
  const line = sight.asked ? '' : sight.known && said ? `${said.tone === 'good' || said.tone === 'calm' ? '' : `${said.sign} `}${said.text}` : '? not known'
  useEffect(() => {
    headline.value = line
    return () => { headline.value = '' }
  }, [line])
  if (sight.asked) return <section class="verdict calm"><span class="sign" aria-hidden="true">…</span><div><h1>{title}: asking the node</h1></div></section>
  if (!sight.known || !said) {
    return (
      <section class="verdict unknown" role="status">
        <span class="sign" aria-hidden="true">?</span>
        <div>
          <h1>Not known: {plain(sight.why)}{sight.since ? <> for {since(sight.since)}</> : null}</h1>
          <p>{sight.since ? 'What stands below was so before. ' : ''}The page goes on by itself once there is an answer.</p>
        </div>
      </section>
    )
  }
  return (
    <section class={'verdict ' + said.tone} role="status">
      <span class="sign" aria-hidden="true">{said.sign}</span>
      <div>
        <h1>{said.text}</h1>
        <p>{said.more}{!database && how.value.is === 'stale' ? ' The database does not answer, or the stream of events does not: this page needs neither.' : ''}</p>
      </div>
    </section>
  )
}

/** Mark is a state as a sign and a word; unknown while nothing is known. */
export function Mark({ known, tone, sign, word }: { known: boolean; tone: Tone; sign: string; word: string }) {
  if (!known) return <span class="state unknown"><span aria-hidden="true">?</span> not known now</span>
  return <span class={'state ' + tone}><span aria-hidden="true">{sign}</span> {word}</span>
}

/** Who is a node with a dot in its colour, the one that it has as a holder of scopes if it is one. */
export function Who({ of, among = [], leads = false, most = 24 }: { of: string; among?: string[]; leads?: boolean; most?: number }) {
  const hue = holders.value.includes(of) ? hueOf(of) : Math.max(0, among.indexOf(of)) % 5
  return <span class={'holder hue' + hue}><i class={leads ? 'dot full' : 'dot'} aria-hidden="true" /><Name of={of} most={most} /></span>
}

/** Bar is a part of a whole. What it says stands beside it as a number. */
export function Bar({ part, tone = 'good' }: { part: number; tone?: Tone }) {
  return <i class={'bar ' + tone} aria-hidden="true"><i ref={(at: HTMLElement | null) => at?.style.setProperty('width', `${Math.round(Math.max(0, Math.min(1, part)) * 100)}%`)} /></i>
}

/** Facts are terms and what they are now. */
export function Facts({ all }: { all: [string, ComponentChildren][] }) {
  return <dl class="facts">{all.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
}

/** ago says how long ago something was, without digits that tick. */
export const ago = (ms: number) => (ms < 10_000 ? 'just now' : `${span(ms < 60_000 ? Math.floor(ms / 10_000) * 10_000 : ms)} ago`)

/** short writes what a user has sent, whatever it is, in one line. */
export const short = (value: unknown) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value))

/** Deed is an action: what it will do is said first, then the token is asked for, then it is asked for. */
export interface Deed {
  title: ComponentChildren
  says: ComponentChildren[]
  verb: string
  path: string
  body: () => unknown // or a text that says what is wrong
  done: (got: Record<string, unknown>) => ComponentChildren
  fields?: ComponentChildren
  may: boolean
}

const longest = 12_000

export function Question({ deed, close }: { deed: Deed; close: () => void }) {
  const box = useRef<HTMLDialogElement>(null)
  const state = useSignal<{ is: 'open' | 'asking' | 'done' | 'refused'; text: ComponentChildren }>({ is: 'open', text: '' })
  useEffect(() => box.current?.showModal(), [])
  const send = async () => {
    const body = deed.body()
    if (typeof body === 'string') {
      state.value = { is: 'refused', text: body }
      return
    }
    state.value = { is: 'asking', text: '' }
    try {
      state.value = { is: 'done', text: deed.done(await act<Record<string, unknown>>(deed.path, body, longest)) }
    } catch (e) {
      const r = e as Refusal
      if (r.status === 401) lockUp()
      state.value = { is: 'refused', text: plain(r.status === 403 ? `Refused: ${r.message}. Ask again with a token that may operate.` : r.message) }
    }
  }
  const { is, text } = state.value
  return (
    <dialog ref={box} onClose={close} aria-labelledby="deed">
      <h2 id="deed">{deed.title}</h2>
      {is === 'done' ? <p role="status" class="good">✓ {text}</p> : (
        <>
          <ul class="what">{deed.says.map((s, i) => <li key={i}>{s}</li>)}</ul>
          {deed.fields}
          {is === 'refused' ? <p class="bad" role="alert">✕ {text}</p> : null}
        </>
      )}
      {needsOperating() && is !== 'done' ? <Unlock /> : (
        <div class="buttons">
          <button type="button" onClick={() => box.current?.close()}>{is === 'done' ? 'Close' : 'Leave it'}</button>
          {is === 'done' ? null : <button type="button" class="main" disabled={!deed.may || is === 'asking'} onClick={send}>{is === 'asking' ? 'Asking…' : deed.verb}</button>}
        </div>
      )}
    </dialog>
  )
}
