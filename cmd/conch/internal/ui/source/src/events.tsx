// What happened, the newest first; it follows while the top is in view, and waits with what is new while somebody reads further down.
import { signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { link, set, view } from './address'
import { read, type Refusal } from './api'
import { type Event, said } from './model'
import { Copy, EventWords, Holder, useNarrow, Virtual } from './parts'
import { events, live, rows } from './store'
import { Instant, Name, plain, zone } from './text'

const kinds = ['acquired', 'lost', 'failed', 'released', 'drained', 'transferred', 'evicted', 'blocked']
const page = 500

/** older are events that were read for a filter, besides those that the page has anyway. */
const older = signal<{ filter: string; events: Event[]; end: boolean; busy: boolean; fault: string }>({ filter: '', events: [], end: false, busy: false, fault: '' })

interface Filter { scope: string; holder: string; event: string; q: string }

const filterOf = (query: URLSearchParams): Filter => ({ scope: query.get('scope') ?? '', holder: query.get('holder') ?? '', event: query.get('event') ?? '', q: query.get('q') ?? '' })

function passes(e: Event, f: Filter): boolean {
  const text = f.q.toLowerCase()
  return (!f.scope || e.scope === f.scope) && (!f.holder || e.holder === f.holder) && (!f.event || e.event === f.event) &&
    (!text || [e.scope, e.holder, e.reason, e.actor, e.event].some((t) => t.toLowerCase().includes(text)))
}

async function readOlder(f: Filter, before: number | undefined): Promise<void> {
  const filter = JSON.stringify(f)
  const have = older.value.filter === filter ? older.value.events : []
  older.value = { filter, events: have, end: false, busy: true, fault: '' }
  try {
    const got = await read<{ events: Event[] }>('v1/history', { scope: f.scope, holder: f.holder, event: f.event, before, limit: page })
    if (older.value.filter !== filter) return
    older.value = { filter, events: [...got.events, ...have], end: got.events.length < page, busy: false, fault: '' }
  } catch (e) {
    if (older.value.filter === filter) older.value = { ...older.value, busy: false, fault: (e as Refusal).message }
  }
}

export function Events() {
  const f = filterOf(view.value.query)
  const narrow = useNarrow()
  const held = useSignal(0) // the newest that is shown while somebody reads further down; 0: all
  const server = JSON.stringify({ ...f, q: '' })
  useEffect(() => {
    if (f.scope || f.holder || f.event) void readOlder({ ...f, q: '' }, undefined)
  }, [server])
  useEffect(() => {
    const look = () => {
      if (scrollY < 120) held.value = 0
      else if (held.value === 0) held.value = events.value[events.value.length - 1]?.id ?? 0
    }
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [])
  const more = older.value.filter === server ? older.value : null
  const all = merged(events.value, more?.events ?? []).filter((e) => passes(e, f))
  const shown = held.value ? all.filter((e) => e.id <= held.value) : all
  const fresh = all.length - shown.length
  return (
    <>
      <div class="line title"><h1>Events</h1>{live.value ? null : <span class="warn">! what has happened since is not known now</span>}</div>
      <Filters f={f} />
      <p class="faint small">{all.length.toLocaleString('en')} {all.length === 1 ? 'event' : 'events'}, times of {zone}.</p>
      {fresh > 0 ? <button type="button" class="fresh main" onClick={() => { scrollTo({ top: 0 }); held.value = 0 }}>{fresh} new, to the top</button> : null}
      {shown.length === 0 ? <p class="panel faint">{events.value.length === 0 && !f.scope ? 'Nothing has happened yet. An election writes the first line.' : 'No event that was read is like that.'}</p> : (
        <div class="panel dense events">
          {narrow ? null : <div class="row head" aria-hidden="true"><span>When</span><span>Scope</span><span>Holder</span><span>What</span><span /></div>}
          <Virtual items={shown.toReversed()} height={narrow ? 106 : 38} label="Events, the newest first" keyOf={(e) => e.id} draw={(e) => (
            <>
              <span class="faint"><Instant at={e.at} dated /></span>
              <a href={link('leaders/s', { scope: e.scope })} data-row><Name of={e.scope} most={narrow ? 22 : 34} /></a>
              {e.holder ? <Holder of={e.holder} leads={e.event === 'acquired'} most={18} /> : <span class="faint">–</span>}
              <span class={'cut ' + (e.event === 'failed' || e.event === 'blocked' ? 'warn' : '')} title={plain(said(e))}><EventWords e={e} /></span>
              {narrow ? null : <Copy text={`${e.at} ${e.scope} ${e.holder} epoch ${e.epoch} ${e.event} ${e.reason}${e.actor ? ` by ${e.actor}` : ''}${e.gap_ms === undefined ? '' : ` after ${e.gap_ms} ms`}`}>Copy</Copy>}
            </>
          )} />
        </div>
      )}
      {more?.fault ? <p class="warn" role="alert">! They could not be read: {more.fault}</p> : null}
      {more?.end ? <p class="faint">There is nothing older.</p> : (
        <button type="button" disabled={more?.busy} onClick={() => void readOlder({ ...f, q: '' }, (more?.events[0] ?? shown[0])?.id)}>{more?.busy ? 'Reading…' : `Read ${page} older`}</button>
      )}
    </>
  )
}

function merged(a: Event[], b: Event[]): Event[] {
  const of = new Map<number, Event>()
  for (const e of [...b, ...a]) of.set(e.id, e)
  return [...of.values()].sort((x, y) => x.id - y.id)
}

function Filters({ f }: { f: Filter }) {
  const scopes = rows.value.map((r) => r.scope)
  const holders = [...new Set([...rows.value.flatMap((r) => r.candidates), ...rows.value.map((r) => r.holder), f.holder])].filter(Boolean).sort()
  return (
    <div class="tools">
      <input type="search" id="filter" placeholder="Text in what was read" aria-label="Filter by text" value={f.q} onInput={(e) => set({ q: e.currentTarget.value })} />
      {scopes.length <= 200 ? (
        <select aria-label="Scope" value={f.scope} onChange={(e) => set({ scope: e.currentTarget.value })}>
          <option value="">every scope</option>
          {[...new Set([...scopes, f.scope])].filter(Boolean).sort().map((s) => <option key={s} value={s}>{plain(s)}</option>)}
        </select>
      ) : f.scope ? <button type="button" class="chip" onClick={() => set({ scope: '' })}>{plain(f.scope)} ✕</button> : null}
      <select aria-label="Holder" value={f.holder} onChange={(e) => set({ holder: e.currentTarget.value })}>
        <option value="">every holder</option>
        {holders.map((h) => <option key={h} value={h}>{plain(h)}</option>)}
      </select>
      <select aria-label="Event" value={f.event} onChange={(e) => set({ event: e.currentTarget.value })}>
        <option value="">every event</option>
        {kinds.map((k) => <option key={k} value={k}>{k}</option>)}
      </select>
      {f.scope || f.holder || f.event || f.q ? <button type="button" class="quiet" onClick={() => set({ scope: '', holder: '', event: '', q: '' })}>Show all</button> : null}
    </div>
  )
}
