// What the node says, as its OpenAPI document has it, and what the page makes of it. Nothing here touches the page.
import { middle, plain } from './text'

export type State = 'nobody' | 'late' | 'fails' | 'holding' | 'released' | 'led'

export interface Row {
  scope: string
  state: State
  epoch: number
  holder: string
  acquired_at: string | null
  heartbeat_age_ms: number
  lease_ms: number
  candidates: string[]
  obstacle?: string
  failures?: number
  last_failure?: string
  heard_at?: number // when its holder was heard last, by the node's clock: the page notes it as it takes the row
}

export interface Change { version: number; rows: Row[]; gone: string[] }

export interface Beats { as_of: string; holders: { holder: string; age_ms: number; scopes: number; late: number; holding: number }[] }

export interface Source { database: 'up' | 'away' | 'none' | 'unknown'; since: string; for_ms: number; why?: string }

export interface Event {
  id: number
  at: string
  scope: string
  epoch: number
  holder: string
  event: 'acquired' | 'lost' | 'failed' | 'released' | 'drained' | 'transferred' | 'evicted' | 'blocked'
  reason: string
  actor: string
  gap_ms?: number
  ms?: number // at, once it was asked for
}

/** dateOf is when an event was, which is parsed once: the timeline asks for those of ten thousand. */
export const dateOf = (e: Event) => (e.ms ??= Date.parse(e.at))

export type Tone = 'good' | 'warn' | 'bad' | 'calm' | 'unknown'

/** Word is how something stands, as a sign and a word: colour is never the only one. */
export interface Word { tone: Tone; sign: string; word: string }

/** Said is how all of it stands, in a sentence. */
export interface Said { tone: Tone; sign: string; text: string; more: string }

const wordOf = (tone: Tone, usual: string) => (word: string, sign = usual): Word => ({ tone, sign, word })

/** good, warn, bad and calm make words of their tone, with the usual sign unless another is named. */
export const [good, warn, bad, calm] = [wordOf('good', '✓'), wordOf('warn', '!'), wordOf('bad', '✕'), wordOf('calm', '○')]

/** tell makes a sentence as one of those makes a word. */
export const tell = (as: typeof good, text: string, more: string, usual?: string): Said => {
  const { tone, sign } = as('', usual)
  return { tone, sign, text, more }
}

/** signs has a sign and a word of each state. They stand in the order in which rows do. */
export const signs: Record<State, Word> = {
  nobody: bad('nobody leads'),
  late: warn('heartbeat late'),
  fails: warn('role fails'),
  holding: warn('holding', '◷'),
  released: calm('given up'),
  led: good('is led'),
}

const order = Object.keys(signs) as State[]

export const inTrouble = (r: Row) => order.indexOf(r.state) < order.indexOf('holding')

/** sorted puts rows that need somebody first, then by scope. */
export const sorted = (rows: Iterable<Row>) =>
  [...rows].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || (a.scope < b.scope ? -1 : a.scope > b.scope ? 1 : 0))

const grouped = (n: number) => n.toLocaleString('en')

/** verdictOf says in words how all scopes stand. */
export function verdictOf(rows: Row[], nodes: number): Said {
  const of = (s: State) => rows.filter((r) => r.state === s).length
  const [all, nobody, late, fails, holding, released] = [rows.length, of('nobody'), of('late'), of('fails'), of('holding'), of('released')]
  const scopes = all === 1 ? 'scope' : 'scopes'
  const more = [
    nobody && `Nobody leads ${named(rows.filter((r) => r.state === 'nobody'))}`, late && `${grouped(late)} with a late heartbeat`, fails && `${grouped(fails)} whose role fails`,
    holding && `${grouped(holding)} holding`, released && `${grouped(released)} given up`,
  ].filter(Boolean).join('; ')
  if (all === 0) return tell(calm, 'There is no scope yet', 'Nobody has campaigned in this database: start a node with a role, or try conch run --scope hello -- sleep 60.')
  if (nobody > 0) return tell(bad, `${grouped(nobody)} of ${grouped(all)} ${scopes} ${nobody === 1 ? 'has' : 'have'} no leader`, rest(more, nobody + late + fails + holding + released, all))
  if (late > 0) return tell(warn, `The leader of ${grouped(late)} of ${grouped(all)} ${scopes} sends no heartbeats`, rest(more, late + fails + holding + released, all))
  if (fails > 0) return tell(warn, `The role of ${grouped(fails)} of ${grouped(all)} ${scopes} has failed in the last ten minutes`, rest(more, fails + holding + released, all))
  const by = `by ${grouped(nodes)} ${nodes === 1 ? 'node' : 'nodes'}`
  if (released === all) return tell(calm, all === 1 ? 'The one scope is given up, and nobody wants to lead' : `All ${grouped(all)} scopes are given up, and nobody wants to lead`, '')
  const waits = holding ? `; ${grouped(holding)} ${holding === 1 ? 'leader waits' : 'leaders wait'} until no predecessor can act` : ''
  if (released > 0) return tell(good, `${grouped(all - released)} of ${grouped(all)} scopes ${all - released === 1 ? 'is' : 'are'} led, ${grouped(released)} given up${waits}`, `Led ${by}.`)
  return tell(good, (all === 1 ? 'The one scope is led' : `All ${grouped(all)} scopes are led`) + waits, `Led ${by}.`)
}

/** named has the names of a few, so that the first line says which. */
const named = (some: Row[]) => some.slice(0, 3).map((r) => plain(middle(r.scope, 34))).join(', ') + (some.length > 3 ? ` and ${grouped(some.length - 3)} more` : '')

const rest = (more: string, named: number, all: number) => more + (named < all ? '. The others are led.' : '.')

/** Term is a bar of the timeline: one leadership, or a time without one. */
export interface Term {
  from: number
  to: number
  holder: string // empty: nobody
  epoch: number
  open: boolean // it goes on
  why: string // how it began; for a time without a leader, how that came about
  ended: string
}

const ends = ['lost', 'failed', 'released', 'drained', 'transferred']
const hindrances = ['evicted', 'blocked']

/** whyNobody is why a scope had no leader for a time: how the last leadership ended, and what kept others from it since. */
function whyNobody(over: Event | null, hindered: Event[], how: string, ms: number): string {
  const why = [...new Set([over ? said(over) : how, ...hindered.map(said)])].join('; then ')
  return ms > outage && hindered.length === 0 ? `${why}; ${over?.event === 'released' ? 'nobody took it then' : 'what kept others from it was not recorded'}` : why
}

/**
 * termsOf makes the bars of one scope from its events, oldest first, between two instants. What lies before the first event is known by it if it
 * ended a leadership, and by the row if there was none.
 */
export function termsOf(events: Event[], row: Row | undefined, from: number, to: number, now: number): Term[] {
  const terms: Term[] = []
  let term: Term | null = null
  let over: Event | null = null
  let hindered: Event[] = [] // what was in the way of the next leadership
  const close = (at: number, e: Event | null) => {
    if (!term) return
    term.to = Math.max(term.from, at)
    term.open = false
    term.ended = e ? said(e) : ''
    terms.push(term)
    term = null
  }
  for (const e of events) {
    const at = dateOf(e)
    if (e.event === 'acquired') {
      const gap = e.gap_ms ?? 0
      close(at - gap, over)
      const why = whyNobody(over, hindered, e.reason, gap)
      const before = terms[terms.length - 1]
      if (before) before.to = Math.max(before.from, Math.min(before.to, at - gap)) // a loss is written down later than it is
      if (gap > 0) terms.push({ from: at - gap, to: at, holder: '', epoch: e.epoch, open: false, why, ended: '' })
      term = { from: at, to, holder: e.holder, epoch: e.epoch, open: true, why: e.reason, ended: '' }
      over = null
      hindered = []
    } else if (hindrances.includes(e.event)) {
      hindered.push(e)
    } else if (ends.includes(e.event)) {
      if (!term && terms.length === 0) term = { from, to: at, holder: e.holder, epoch: e.epoch, open: false, why: '', ended: '' }
      if (term && (term as Term).epoch <= e.epoch) close(at, e)
      over = e
    }
  }
  const led = row && row.state !== 'nobody' && row.state !== 'released'
  const t = term as Term | null
  if (t && led && t.epoch < row.epoch && row.acquired_at) close(Date.parse(row.acquired_at), null) // the row is ahead of the events
  if (term) {
    close(led || !row ? Math.min(to, now) : Math.max((term as Term).from, row.heard_at ?? now - row.heartbeat_age_ms), null)
    terms[terms.length - 1]!.open = Boolean(led) && to >= now
  } else if (led && row.acquired_at && (terms[terms.length - 1]?.epoch ?? 0) < row.epoch) {
    terms.push({ from: Math.max(from, Date.parse(row.acquired_at)), to: Math.min(to, now), holder: row.holder, epoch: row.epoch, open: to >= now, why: '', ended: '' })
  }
  const last = terms[terms.length - 1]
  if (row && row.state === 'nobody' && row.epoch > 0 && now <= to + 1000 && last && last.holder !== '') {
    terms.push({ from: last.to, to: Math.min(to, now), holder: '', epoch: row.epoch, open: true, why: [whyNobody(over, hindered, 'its leader is gone', 0), ...(row.obstacle ? [`in the way: ${row.obstacle}`] : row.candidates.length === 0 ? ['no candidate is connected to the database'] : [])].join('; '), ended: '' })
  }
  return terms.filter((t) => t.to >= from && t.from <= to).map((t) => ({ ...t, from: Math.max(from, t.from), to: Math.min(to, t.to) }))
}

const verbs: Record<Event['event'], string> = {
  acquired: 'began to lead', lost: 'lost it', failed: 'gave up: its role failed', released: 'gave it up', drained: 'was drained', transferred: 'handed it over',
  evicted: 'evicted', blocked: 'nobody could take it',
}

/** said is an event in words, without its holder. */
export const said = (e: Event) => verbs[e.event] + (e.actor ? `, asked by ${e.actor}` : '') + (e.reason && e.event !== 'acquired' ? `: ${e.reason}` : '')

const outage = 30_000

export type Grade = 'tick' | 'short' | 'long'

/** gradeOf is how bad a time without a leader is: below a lease a handover, above 30 s an outage. */
export const gradeOf = (ms: number, lease: number): Grade => (ms > outage ? 'long' : ms >= (lease || 3000) ? 'short' : 'tick')

/** byScope groups events, oldest first. */
export function byScope(events: Event[]): Map<string, Event[]> {
  const of = new Map<string, Event[]>()
  for (const e of events) {
    const list = of.get(e.scope)
    if (list) list.push(e)
    else of.set(e.scope, [e])
  }
  return of
}
