// What the page knows, and how well: one place for all views. Ages are the server's measure and performance.now() since it came;
// the browser's wall clock only labels axes.
import { batch, computed, signal } from '@preact/signals'
import { freshFor, read, Refusal, sentAt, urlOf } from './api'
import { type Beats, type Change, type Event, type Row, type Source, sorted } from './model'

export interface Session {
  name: string
  may: 'read' | 'operate' | ''
  tokens: boolean
  node: string
  cluster?: string
  version: string
  parts?: string[] // what there is on the node: tables of its configuration, and scopes
  now: string
}

interface Page { version: number; rows: Row[]; next?: string; as_of: string; source: Source }

const dense = { view: 'dense', limit: 10_000 } // as early.ts asks for it
const eventsKept = 5000

export const session = signal<Session | null>(null)
export const rows = signal<Row[]>([])
export const beats = signal<Map<string, { age: number; at: number; scopes: number }>>(new Map())
export const events = signal<Event[]>([]) // oldest first
export const source = signal<{ is: Source; at: number } | null>(null)
export const loaded = signal(false)
export const needsToken = signal(false)
export const headline = signal('') // the first line of a page that has one of its own
export const fault = signal('') // why the last reading failed

/** now is performance.now(), twice a second while the page is seen. */
export const now = signal(performance.now())

// The node's clock as it was last told, and when that was here.
let stamp: { server: number; at: number } | null = null

/** serverNow is the node's time, by its own word and performance.now() since; the browser's before the first. */
export const serverNow = () => (stamp ? stamp.server + performance.now() - stamp.at : Date.now())

/** skew is by how much the browser's clock is ahead of the node's, in ms. */
export const skew = signal(0)

function tellTime(iso: string): void {
  const server = Date.parse(iso)
  if (Number.isNaN(server)) return
  stamp = { server, at: performance.now() }
}

let version = 0
let stream = 0 // counts the streams that began: a node that was started again counts versions from 1
const heard = { byte: 0, beats: 0, polled: 0, first: 0 } // the first is when the first whole reading was asked for

export type Link = { is: 'connecting' | 'live' | 'polling' | 'stale'; since: number; why: string }
export const how = signal<Link>({ is: 'connecting', since: 0, why: '' })
export const live = computed(() => how.value.is === 'live' || how.value.is === 'polling')

/** holders are all that lead, may, or did, in order: the place in it gives a holder its colour, which it keeps when it has died. */
export const holders = computed(() => {
  const all = new Set<string>()
  for (const r of rows.value) {
    if (r.holder) all.add(r.holder)
    for (const c of r.candidates) all.add(c)
  }
  for (const e of events.value) if (e.holder) all.add(e.holder)
  return [...all].sort()
})

/** hues has the colour of each holder. */
export const hues = computed(() => new Map(holders.value.map((holder, at) => [holder, at % 5])))

export const hueOf = (holder: string) => hues.value.get(holder) ?? 4

/** ageOf is for how long a scope's holder has not been heard, in ms. */
export function ageOf(r: Row): number {
  const b = beats.value.get(r.holder)
  return b ? b.age + Math.max(0, now.value - b.at) : r.heartbeat_age_ms
}

const known = new Map<string, Row>()

function takeChange(c: Change): void {
  if (c.version < version) return
  version = c.version
  for (const r of c.rows ?? []) known.set(r.scope, { ...r, heard_at: serverNow() - r.heartbeat_age_ms })
  for (const scope of c.gone ?? []) known.delete(scope)
  rows.value = sorted(known.values())
}

function takeEvents(more: Event[]): void {
  const have = new Set(events.value.map((e) => e.id))
  const fresh = more.filter((e) => !have.has(e.id))
  if (fresh.length === 0) return
  events.value = [...events.value, ...fresh].sort((a, b) => a.id - b.id).slice(-eventsKept)
}

function takeBeats(b: Beats): void {
  const at = performance.now()
  heard.beats = at
  beats.value = new Map(b.holders.map((h) => [h.holder, { age: h.age_ms, at, scopes: h.scopes }]))
  tellTime(b.as_of)
}

const takeSource = (s: Source) => (source.value = { is: s, at: performance.now() })

const others = new Map<string, Set<(data: unknown) => void>>()

/** listen has somebody hear of the events of services, by kind, and of a gap, until what it returns is called. */
export function listen(kinds: string[], hear: (data: unknown) => void): () => void {
  for (const kind of kinds) others.set(kind, (others.get(kind) ?? new Set()).add(hear))
  return () => kinds.forEach((kind) => others.get(kind)?.delete(hear))
}

/** take takes what the stream said in. What is not known here is left alone. */
export function take(kind: string, data: unknown): void {
  heard.byte = performance.now()
  switch (kind) {
    case 'source': takeSource(data as Source); break
    case 'beats': takeBeats(data as Beats); break
    case 'scope': takeChange(data as Change); break
    case 'message': takeEvents([data as Event]); break
    case 'gap':
      version = 0
      stream++
      void load()
      break
  }
  for (const hear of others.get(kind) ?? []) hear(data)
  judge()
}

let loading: Promise<void> | null = null

let again = false

/** load reads everything anew, and clears nothing while it waits. What asks for it while a reading is under way gets another after it. */
export function load(): Promise<void> {
  if (loading) again = true
  loading ??= whole().finally(() => (loading = null))
  return loading
}

async function whole(): Promise<void> {
  do {
    again = false
    await fill()
  } while (again)
}

async function fill(): Promise<void> {
  try {
    const mine = stream
    const told = source.value?.at // what the stream says meanwhile is newer than what is asked for here
    const asked = sentAt(urlOf('v1/scopes', dense))
    const first = read<Page>('v1/scopes', dense)
    await Promise.all([session.value ? null : begun(), first])
    let page = await first
    const all = [...page.rows]
    while (page.next) {
      page = await read<Page>('v1/scopes', { ...dense, after: page.next })
      all.push(...page.rows)
    }
    // Another stream began, of another process perhaps: what follows reads again. Until then this is better than nothing.
    if (mine !== stream && (loaded.value || version > 0)) return
    batch(() => {
      if (mine === stream && page.version >= version) {
        known.clear()
        version = page.version
      }
      takeChange({ version: mine === stream ? page.version : 0, rows: all, gone: [] })
      if (page.source && source.value?.at === told) takeSource(page.source)
      if (page.source?.database !== 'away') tellTime(page.as_of)
      needsToken.value = false
      fault.value = ''
      if (!loaded.value) heard.first = asked
      loaded.value = true
      judge()
    })
    if (mine === stream) takeEvents((await read<{ events: Event[] }>('v1/history', { limit: 500 })).events)
  } catch (e) {
    const r = e as Refusal
    fault.value = r.message
    if (r.status === 401) needsToken.value = true
  }
  judge()
}

/** begun asks who asks of whom, and by how much the clocks differ: by two seconds at least, whatever the way took. */
async function begun(): Promise<void> {
  const sent = Date.now() - performance.now() + sentAt(urlOf('v1/session'))
  const s = await read<Session>('v1/session')
  const came = Date.now()
  const ahead = (sent + came) / 2 - Date.parse(s.now)
  skew.value = Math.abs(ahead) - (came - sent) / 2 > 2000 ? Math.round(ahead / 1000) * 1000 : 0
  session.value = s
}

/** poll asks once, while a proxy holds the stream back. */
export async function poll(): Promise<void> {
  await load()
  if (fault.value === '') heard.polled = performance.now()
  judge()
}

/** lost says that the stream has ended: what was heard before is not fresh until a byte comes. */
export const lost = () => judge()

const quiet = { byte: 10_500, beats: 3000, polled: 6000 }

/** judge decides whether the page shows the present, and since when not. */
export function judge(): void {
  const t = performance.now()
  const s = source.value
  const was = how.value
  const set = (is: Link['is'], since: number, why: string) => {
    if (was.is !== is || was.why !== why || Math.abs(was.since - since) > 1500) how.value = { is, since, why }
  }
  if (s?.is.database === 'away') return set('stale', s.at - s.is.for_ms, 'the database has not answered')
  const beating = heard.beats > 0 && s?.is.database !== 'none'
  const streamed = heard.byte > 0 && t - heard.byte < quiet.byte && (!beating || t - heard.beats < quiet.beats)
  const awaits = heard.byte === 0 && heard.first > 0 && t - heard.first < freshFor // the stream has not begun yet, and what was read is of now
  if (loaded.value && (streamed || awaits)) return set('live', 0, '')
  if (heard.polled > 0 && t - heard.polled < quiet.polled) return set('polling', 0, 'a proxy holds the stream back: the page asks every two seconds')
  const last = Math.max(heard.polled, beating ? heard.beats : heard.byte)
  if (last === 0 && !fault.value) return set('connecting', 0, '')
  const node = session.value?.node ?? 'the node'
  set('stale', last || was.since || t, fault.value && last === 0 ? fault.value : `${node} has not answered`)
}

/** watchClock ticks while the page is seen. */
export function watchClock(): void {
  setInterval(() => {
    judge()
    if (!document.hidden) now.value = performance.now()
  }, 500)
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) {
      now.value = performance.now()
      void load()
    }
  })
}
