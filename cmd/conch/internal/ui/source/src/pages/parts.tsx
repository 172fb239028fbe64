// What the pages of services have in common.
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Said, Tone } from '../model'
import { Banner, since } from '../parts'
import { headline, holders, how, hueOf } from '../store'
import { Name, plain, span } from '../text'
import type { Sight } from './reading'

export type { Said, Tone, Word } from '../model'
export { Banner, Mark } from '../parts'

/** Sentence is the first line of a page: is all well, in words. */
export function Sentence({ title, sight, said, database = false }: { title: string; sight: Sight; said: Said | null; database?: boolean }) {
  const line = sight.asked ? '' : sight.known && said ? `${said.tone === 'good' || said.tone === 'calm' ? '' : `${said.sign} `}${said.text}` : '? not known'
  useEffect(() => {
    headline.value = line
    return () => { headline.value = '' }
  }, [line])
  if (sight.asked) return <Banner tone="calm" sign="…" text={`${title}: asking the node`} />
  if (!sight.known || !said) {
    return (
      <Banner tone="unknown" sign="?" text={<>Not known: {plain(sight.why)}{sight.since ? <> for {since(sight.since)}</> : null}</>}>
        {sight.since ? 'What stands below was so before. ' : ''}The page goes on by itself once there is an answer.
      </Banner>
    )
  }
  return <Banner {...said}>{said.more}{!database && how.value.is === 'stale' ? ' The database does not answer, or the stream of events does not: this page needs neither.' : ''}</Banner>
}

/** Before says that what stands below was so before. */
export const Before = ({ sight }: { sight: Sight }) => (sight.known || sight.asked ? null : <p class="warn">! Not known: {plain(sight.why)}. This was so before.</p>)

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
