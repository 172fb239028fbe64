// Other people's words on the page: always text nodes, and what cannot be seen or turns text around is drawn as its code point.
import type { ComponentChildren } from 'preact'

// Controls, formats, separators, private and unassigned ones, lone surrogates, and blanks that look like nothing.
const hidden = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u00a0\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u202f\u205f\u2800\u3000\u3164\uffa0]/u

const codePoint = (c: string) => 'U+' + c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')

/** plain is a text for a title or a canvas: what is hidden is spelled. */
export const plain = (text: string) => [...text].map((c) => (hidden.test(c) ? `‹${codePoint(c)}›` : c)).join('')

/** Drawn shows a text as it is, with code points for what is hidden. */
export function Drawn({ text }: { text: string }) {
  const parts: ComponentChildren[] = []
  let run = ''
  for (const c of text) {
    if (!hidden.test(c)) {
      run += c
      continue
    }
    if (run) parts.push(run)
    parts.push(<span class="point">{codePoint(c)}</span>)
    run = ''
  }
  return <bdi>{parts}{run}</bdi>
}

/** middle leaves out the middle of a long text, since names differ at both ends. */
export function middle(text: string, most: number): string {
  const all = [...text]
  if (all.length <= most) return text
  const head = Math.ceil((most - 1) * 0.55)
  return all.slice(0, head).join('') + '…' + all.slice(all.length - (most - 1 - head)).join('')
}

/** Name shows a name of at most so many characters; the whole one is its title. */
export function Name({ of, most = 34 }: { of: string; most?: number }) {
  return <span class="name" title={plain(of)}><Drawn text={middle(of, most)} /></span>
}

/** span says for how long, in two digits at most and one unit. */
export function span(ms: number): string {
  const s = ms / 1000
  if (ms < 1) return '0\u00a0ms'
  if (ms < 1000) return `${Math.round(ms)}\u00a0ms`
  if (s < 10) return `${s.toFixed(1)}\u00a0s`
  if (s < 100) return `${Math.round(s)}\u00a0s`
  if (s < 5400) return `${Math.round(s / 60)}\u00a0min`
  if (s < 129600) return `${Math.round(s / 3600)}\u00a0h`
  return `${Math.round(s / 86400)}\u00a0d`
}

export const count = (n: number, one: string, many = one + 's') => `${n.toLocaleString('en')} ${n === 1 ? one : many}`

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' })

/** zone is the browser's, which is named once on each page that shows instants. */
export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone

export const localTime = (at: number | Date, dated = false) => (dated ? day : clock).format(at)

/** Instant shows a time of the day, with its date if asked; UTC is its title. */
export function Instant({ at, dated }: { at: string; dated?: boolean }) {
  return <time dateTime={at} title={at.replace('T', ' ').replace('Z', ' UTC')}>{localTime(new Date(at), dated)}</time>
}
