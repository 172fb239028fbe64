// The first screen: one sentence, then the scopes, those that need somebody first.
import { set, view, link } from './address'
import { Alarm } from './firing'
import { HandOver } from './handover'
import { inTrouble, type Row, signs, verdictOf } from './model'
import { Banner, Copy, EventLine, Holder, Lease, Obstacle, StateOf, since, useNarrow, Virtual } from './parts'
import { ageOf, events, how, live, loaded, now, rows, serverNow } from './store'
import { eventsOf, Strip, stripTime } from './strip'
import { Instant, Name, plain, span } from './text'

const mostCards = 24

/** ago says how long ago an instant was, without digits that tick. */
export function ago(iso: string): string {
  void now.value
  const ms = serverNow() - Date.parse(iso)
  return ms < 60_000 ? 'just now' : `${span(ms)} ago`
}

/** Verdict is the first line of the page: is all well, in words. */
export function Verdict() {
  if (how.value.is === 'connecting') return <Banner tone="calm" sign="…" text="Asking the node" />
  if (!live.value) {
    const { since: at, why } = how.value
    return (
      <Banner tone="unknown" sign="?" text={<>Not known: {why}{at ? <> for {since(at)}</> : null}</>}>
        {loaded.value ? 'What stands below was so before. Nothing can be done from here until it is known again; the page goes on by itself.' : 'The page goes on by itself once there is an answer.'}
      </Banner>
    )
  }
  const leading = new Set(rows.value.filter((r) => r.holder && r.state !== 'nobody' && r.state !== 'released').map((r) => r.holder))
  const v = verdictOf(rows.value, leading.size)
  const last = events.value.findLast((e) => e.event === 'acquired')
  return (
    <Banner {...v}>
      {v.more}{last && v.tone === 'good' ? <> Last change of hands {ago(last.at)}: <Name of={last.scope} /> to <Name of={last.holder} />{last.gap_ms !== undefined ? `, ${span(last.gap_ms)} without a leader` : ''}.</> : null}
    </Banner>
  )
}

export function Leaders() {
  const q = view.value.query.get('q') ?? ''
  const only = view.value.query.get('only') ?? ''
  const all = rows.value
  const trouble = all.filter(inTrouble).length
  const needle = q.toLowerCase()
  const some = all.filter((r) => (only !== 'trouble' || inTrouble(r)) && (!needle || r.scope.toLowerCase().includes(needle) || r.holder.toLowerCase().includes(needle)))
  const many = all.length > mostCards
  return (
    <>
      <Verdict />
      <Alarm />
      {all.length === 0 ? null : (
        <div class="with-side">
          <section aria-label="Scopes">
            {many ? (
              <div class="tools">
                <input type="search" id="filter" placeholder="Scope or holder" aria-label="Filter by scope or holder" value={q} onInput={(e) => set({ q: e.currentTarget.value })} />
                <button type="button" class="chip" aria-pressed={only === 'trouble'} onClick={() => set({ only: only ? '' : 'trouble' })}>Only trouble ({trouble})</button>
                <span class="faint">{some.length.toLocaleString('en')} of {all.length.toLocaleString('en')}</span>
              </div>
            ) : null}
            {many ? <Dense rows={some} /> : <ul class="cards">{some.map((r) => <Card key={r.scope} row={r} />)}</ul>}
            {some.length === 0 ? <p class="panel faint">No scope has “{plain(q)}” in its name or its holder’s{only ? ', and needs somebody' : ''}. <button type="button" class="quiet" onClick={() => set({ q: '', only: '' })}>Show all</button></p> : null}
          </section>
          <aside aria-label="Nodes and events"><Leading /><LastEvents /></aside>
        </div>
      )}
    </>
  )
}

function Card({ row }: { row: Row }) {
  return (
    <li class={'card ' + (live.value ? signs[row.state].tone : 'unknown')}>
      <div class="line"><h2><a href={link('leaders/s', { scope: row.scope })} data-row><Name of={row.scope} most={40} /></a></h2><StateOf row={row} /></div>
      <div class="line"><span class="big">{row.holder && row.state !== 'nobody' && row.state !== 'released' ? <Holder of={row.holder} most={20} /> : live.value ? 'nobody' : <Holder of={row.holder || '?'} most={20} />}</span><span class="faint number">epoch {row.epoch}</span></div>
      <Lease row={row} />
      {live.value ? <Obstacle row={row} /> : null}
      {row.candidates.length > 0 ? (
        <div class="candidates"><span class="sr">Candidates: </span>{row.candidates.slice(0, 6).map((c) => <Holder key={c} of={c} leads={c === row.holder && row.state !== 'nobody'} most={18} />)}{row.candidates.length > 6 ? <span class="faint">and {row.candidates.length - 6} more</span> : null}</div>
      ) : <div class="candidates faint">no candidate</div>}
      <Strip row={row} />
      <div class="line foot"><span class="faint small"><LastChange row={row} /></span><HandOver row={row} /></div>
    </li>
  )
}

export function LastChange({ row }: { row: Row }) {
  const last = eventsOf.value.get(row.scope)?.findLast((e) => e.event === 'acquired')
  if (!last) return <>{row.acquired_at ? `began ${ago(row.acquired_at)}` : 'never led'}</>
  const how = { first: 'first term', takeover: 'takeover', handoff: 'handover' }[last.reason] ?? plain(last.reason)
  return <>{ago(last.at)} · {how}{last.gap_ms !== undefined ? ` · took\u00a0${span(last.gap_ms)}` : ''}</>
}

function Dense({ rows }: { rows: Row[] }) {
  const narrow = useNarrow()
  return (
    <div class="panel dense">
      {narrow ? null : <div class="row head" aria-hidden="true"><span>State</span><span>Scope</span><span>Holder</span><span class="number">Epoch</span><span>Heartbeat</span><span>Last change, or what is wrong</span></div>}
      <Virtual items={rows} height={narrow ? 62 : 38} label="Scopes, trouble first" keyOf={(r) => r.scope} draw={(r) => (
        <>
          <StateOf row={r} />
          <a href={link('leaders/s', { scope: r.scope })} data-row><Name of={r.scope} most={narrow ? 26 : 44} /></a>
          {r.state !== 'nobody' && r.holder ? <Holder of={r.holder} most={20} /> : <span class="faint">nobody</span>}
          <span class="faint number">{narrow ? `epoch ${r.epoch}` : r.epoch}</span>
          <Beat row={r} narrow={narrow} />
          {narrow ? null : <Wrong row={r} />}
        </>
      )} />
    </div>
  )
}

/** Wrong is what is wrong with a scope, and else its last change of hands. */
function Wrong({ row }: { row: Row }) {
  const why = live.value && inTrouble(row) ? plain(row.obstacle || row.last_failure || '') : ''
  return <span class="faint cut" title={why}>{why || <LastChange row={row} />}</span>
}

function Beat({ row, narrow }: { row: Row; narrow: boolean }) {
  if (!live.value || row.state === 'nobody' || row.state === 'released') return <span class="faint">–</span>
  const age = ageOf(row)
  const late = row.lease_ms > 0 && age > (row.lease_ms / 5) * 2.5
  return <span class={late ? 'warn' : 'faint'}>{late ? `late: ${span(Math.round(age / 500) * 500)}` : narrow ? 'beats' : 'in time'}</span>
}

/** Leading says which node leads how many. */
function Leading() {
  const of = new Map<string, { leads: number; may: number }>()
  const at = (id: string) => of.get(id) ?? of.set(id, { leads: 0, may: 0 }).get(id)!
  for (const r of rows.value) {
    for (const c of r.candidates) at(c).may++
    if (r.holder && r.state !== 'nobody' && r.state !== 'released') at(r.holder).leads++
  }
  const list = [...of].sort(([a, x], [b, y]) => y.leads - x.leads || (a < b ? -1 : 1)).slice(0, 12)
  return (
    <section class="panel">
      <h2>Who leads</h2>
      <ul class="plain">{list.map(([id, n]) => (
        <li key={id} class="line"><Holder of={id} leads={n.leads > 0} most={16} /><span class="faint right number">{!live.value ? '?' : `leads ${n.leads.toLocaleString('en')}, may lead ${n.may.toLocaleString('en')}`}</span></li>
      ))}</ul>
      {of.size > list.length ? <p class="faint">and {of.size - list.length} more</p> : null}
    </section>
  )
}

function LastEvents() {
  const last = events.value.slice(-8).reverse()
  return (
    <section class="panel">
      <h2>Last events</h2>
      {last.length === 0 ? <p class="faint">Nothing has happened yet.</p> : <ul class="plain">{last.map((e) => <li key={e.id}><EventLine e={e} /></li>)}</ul>}
      <p><a href={link('events')}>All events</a></p>
    </section>
  )
}

/** OneScope is a scope's own page. */
export function OneScope() {
  const scope = view.value.query.get('scope') ?? ''
  const row = rows.value.find((r) => r.scope === scope)
  if (!row) {
    return (
      <section class="panel">
        <h1><Name of={scope} most={80} /></h1>
        <p>{loaded.value ? 'There is no scope of this name in the database. It may have been forgotten, or the link is of another cluster.' : 'Asking the node…'} <a href={link('leaders')}>All scopes</a></p>
      </section>
    )
  }
  const mine = (eventsOf.value.get(scope) ?? []).toReversed()
  const took = mine.filter((e) => e.event === 'acquired' && e.gap_ms !== undefined).map((e) => e.gap_ms!).sort((a, b) => a - b)
  const led = row.state !== 'nobody' && row.state !== 'released'
  return (
    <>
      <p class="crumb"><a href={link('leaders')}>Leaders</a></p>
      <section class={'panel one ' + (live.value ? signs[row.state].tone : 'unknown')}>
        <div class="line"><h1><Name of={row.scope} most={60} /></h1><Copy text={row.scope}>Copy its name</Copy><span class="right"><StateOf row={row} /></span></div>
        {live.value ? <Obstacle row={row} /> : <p class="warn">Not known: {how.value.why}{how.value.since ? <> for {since(how.value.since)}</> : null}. This was so before.</p>}
        {live.value && row.state === 'nobody' && row.obstacle ? <p><Copy text={row.obstacle}>Copy what is in the way</Copy></p> : null}
        <dl class="facts">
          <div><dt>Holder</dt><dd class="big">{led ? <Holder of={row.holder} most={40} /> : 'nobody'}</dd></div>
          <div><dt>Epoch</dt><dd class="number">{row.epoch || 'never led'}</dd></div>
          <div><dt>Leads since</dt><dd>{led && row.acquired_at ? <><Instant at={row.acquired_at} dated /> <span class="faint">({ago(row.acquired_at)})</span></> : '–'}</dd></div>
          <div><dt>Lease</dt><dd>{row.lease_ms ? span(row.lease_ms) : '–'} <Lease row={row} /></dd></div>
          <div><dt>Role failed</dt><dd>{row.failures ? `${row.failures} times in ten minutes` : 'not in the last ten minutes'}</dd></div>
          <div><dt>Time without a leader</dt><dd>{took.length === 0 ? 'no change of hands yet' : `p50 ${span(took[Math.floor((took.length - 1) * 0.5)]!)}, p99 ${span(took[Math.floor((took.length - 1) * 0.99)]!)}, of ${took.length} ${took.length === 1 ? 'change' : 'changes'} of hands`}</dd></div>
        </dl>
        <h2>Candidates</h2>
        {row.candidates.length === 0 ? <p class="faint">None. A node with this role, or conch run --scope, is one.</p>
          : <div class="candidates">{row.candidates.map((c) => <Holder key={c} of={c} leads={led && c === row.holder} most={40} />)}</div>}
        <h2>{stripTime.value.words}</h2>
        <Strip row={row} />
        <div class="buttons"><HandOver row={row} /><a class="button" href={link('timeline', { q: row.scope })}>Timeline</a><a class="button" href={link('events', { scope: row.scope })}>Events</a></div>
      </section>
      <section class="panel">
        <h2>Its last events</h2>
        {mine.length === 0 ? <p class="faint">None among the newest that this page has read. <a href={link('events', { scope })}>Look further back</a></p>
          : <ul class="plain">{mine.slice(0, 50).map((e) => <li key={e.id}><EventLine e={e} scoped={false} /></li>)}</ul>}
      </section>
    </>
  )
}
