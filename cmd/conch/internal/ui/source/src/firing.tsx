// Whether an alert fires, as every page shows it beside the tab, and the first one in a line.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { link } from './address'
import { bad, type Said, tell, warn } from './model'
import { useDatabase } from './pages/reading'
import { count, Drawn, middle, plain } from './text'

export interface Telling { receiver: string; state: 'told' | 'spared' | 'sending' | 'doubted' | 'waiting' | 'failing'; knows: 'nothing' | 'firing' | 'resolved'; at: string | null; why?: string }

export interface Alert {
  key: string
  rule: string
  severity: string
  state: 'firing' | 'silenced' | 'pending' | 'resolved'
  labels: Record<string, string>
  summary: string
  description?: string
  since: string
  fires_at?: string
  until: string | null
  silence?: string
  firing: number
  silenced: number
  pending: number
  members: { labels: Record<string, string>; value: string; state: Alert['state']; since: string }[]
  others: number
  tellings: Telling[]
}

export interface Alerts {
  evaluation: { at: string; age_ms: number; node: string; interval_ms: number; late: boolean } | null
  counts: Record<Alert['state'], number>
  alerts: Alert[]
  rules: { rule: string; severity: string; condition: string; for: string; builtin: boolean; receivers: string[]; trouble: { since: string; no_data: boolean; why?: string } | null }[]
  receivers: { receiver: string; kind: string; told_at: string | null; waiting: number; failed_at?: string; why?: string }[]
}

/** doing is how something stands that fires, by its severity. */
export const doing = (severity: string) => (['critical', 'page', 'error', 'high'].includes(severity) ? bad : warn)

/** toneOf is how the most urgent one stands, which is the first. */
export const toneOf = (a: Alerts) => doing(a.alerts[0]?.severity ?? '')

/** named names the first few rules. */
export const named = (some: { rule: string }[]) => [...new Set(some.map((x) => middle(plain(x.rule), 34)))].slice(0, 3).join(', ') + (new Set(some.map((x) => x.rule)).size > 3 ? ', …' : '')

const pace = { every: 5000, least: 1000, patience: 4000 }

/** firing is what is said of alerts on each page; null: nothing. */
export const firing = signal<Said | null>(null)

/** Bell counts what fires, beside the tab. */
export function Bell() {
  const { reading, sight } = useDatabase<Alerts>('v1/alerts', { state: 'firing', limit: 1 }, ['alert'], pace)
  const a = reading.value
  const known = sight.known && a?.evaluation?.late === false
  const many = a?.counts.firing ?? 0
  const said: Said | null = sight.asked || reading.refused?.status === 404 || (known && !many) ? null
    : known ? tell(toneOf(a!), `${count(many, 'alert')} ${many === 1 ? 'fires' : 'fire'}`, a!.alerts[0]?.summary ?? '')
      : { tone: 'unknown', sign: '?', text: 'Whether an alert fires is not known', more: sight.known ? 'nobody evaluates' : sight.why }
  useEffect(() => { firing.value = said }, [said && said.sign + said.text + said.more])
  return said ? <b class={said.tone}> {said.sign}{known ? ` ${many.toLocaleString('en')}` : ''}</b> : null
}

/** Alarm is a line of the first screen, if something fires, or that is not known. */
export function Alarm() {
  const f = firing.value
  return f ? <p class={'note ' + f.tone} role="status">{f.sign} <a href={link('alerts')}>{f.text}</a>: <Drawn text={f.more} /></p> : null
}
