// Who led when: lanes on a canvas, the whole month as a brush, and the longest times without a leader as a table, which says the same to everybody.
import { computed, signal, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { here, link, set, view } from './address'
import { read, type Refusal } from './api'
import { draw, drawBrush, firstAfter, type Gap, heightOf, hit, type Lane, type Look } from './lanes'
import { byScope, dateOf, type Event, gradeOf, type Row, signs, type Term, termsOf } from './model'
import { Copy, Holder, useNarrow } from './parts'
import { events, how, hueOf, hues, live, now, rows, serverNow } from './store'
import { count, Drawn, Instant, localTime, Name, span, zone } from './text'

const hour = 3_600_000
const month = 30 * 24 * hour
const windows: [string, number][] = [['5 min', hour / 12], ['1 h', hour], ['6 h', 6 * hour], ['24 h', 24 * hour], ['7 d', 7 * 24 * hour], ['30 d', month]]
const mostLanes = 60
const mostEvents = 10_000
const pageOfEvents = 5000

/** past are the events that were read for the window, and how far back they go. */
const past = signal<{ events: Event[]; from: number; whole: boolean; fault: string }>({ events: [], from: Infinity, whole: true, fault: '' })
let reading: AbortController | null = null

/** fetchPast reads the history back to an instant, the newest first, and stops at ten thousand. */
async function fetchPast(from: number): Promise<void> {
  if (from >= past.value.from) return
  reading?.abort()
  const mine = (reading = new AbortController())
  const all: Event[] = []
  let before: number | undefined
  try {
    while (all.length < mostEvents) {
      const page = await read<{ events: Event[] }>('v1/history', { from: new Date(from).toISOString(), before, limit: pageOfEvents }, 20_000)
      if (mine.signal.aborted) return
      all.unshift(...page.events)
      if (page.events.length < pageOfEvents) break
      before = page.events[0]!.id
    }
    const whole = all.length < mostEvents
    past.value = { events: all, from: whole ? from : Date.parse(all[0]!.at), whole, fault: '' }
  } catch (e) {
    past.value = { ...past.value, fault: (e as Refusal).message }
  }
}

const together = computed(() => {
  const first = past.value.events
  const last = first[first.length - 1]?.id ?? 0
  const oldest = first[0]?.id ?? Infinity
  return [...events.value.filter((e) => e.id < oldest && first.length === 0), ...first, ...events.value.filter((e) => e.id > last && first.length > 0)]
})

/** young is how much is shown at first: a day, or less of a cluster that has no more. */
function young(): number {
  const since = serverNow() - Date.parse(events.value[0]?.at ?? '')
  return windows.find(([, wide]) => since <= wide && wide < 24 * hour)?.[1] ?? 24 * hour
}

/** span of view: by its end and its length; without an end it follows the present. */
function lookOf(): { from: number; to: number; follows: boolean } {
  const q = view.value.query
  const [from, to] = [Number(q.get('from')), Number(q.get('to'))]
  if (from > 0 && to > from) return { from, to, follows: false }
  const wide = windows.find(([name]) => name.replace(' ', '') === q.get('w'))?.[1] ?? young()
  const end = serverNow()
  return { from: end - wide, to: end + wide * 0.01, follows: true }
}

const keep = (from: number, to: number) => {
  const end = serverNow()
  const wide = Math.min(month, Math.max(10_000, to - from))
  const last = Math.min(to, end + wide * 0.05)
  set({ from: String(Math.round(last - wide)), to: String(Math.round(last)), w: undefined })
}

const without = (t: Term) => t.to - t.from

export function Timeline() {
  const query = view.value.query
  const q = (query.get('q') ?? '').toLowerCase()
  const more = useSignal(1)
  const narrow = useNarrow(700)
  const at = lookOf()
  if (at.follows) void now.value
  useEffect(() => {
    const timer = setTimeout(() => void fetchPast(at.from), at.follows ? 0 : 250)
    return () => clearTimeout(timer)
  }, [Math.round(at.from / 60_000)])
  const every = lanesOf(at)
  const { lanes, longest } = inView(q ? every.filter((lane) => lane.scope.toLowerCase().includes(q)) : every, at)
  const shown = lanes.slice(0, mostLanes * more.value)
  const chosen = find(lanes, query.get('sel'))
  const choose = (lane: Lane, term: Term) => set({ sel: `${term.from}@${lane.scope}` })
  const isRead = !past.value.whole || past.value.from <= at.from // else what is missing below may be there
  const unread = `Not known: the history ${past.value.fault ? 'could not be read' : 'is being read'}.`
  const look: Look = { from: at.from, to: at.to, hueOf, named: narrow, selected: chosen ? { scope: chosen.lane.scope, from: chosen.term.from } : null }
  return (
    <>
      <div class="line title"><h1>Who led when</h1>{live.value ? null : <span class="warn">! the end of each lane is not known now: {how.value.why}</span>}</div>
      <Tools at={at} q={query.get('q') ?? ''} />
      <p class="faint small">{localTime(at.from, true)} – {localTime(at.to, true)}, times of {zone}. {past.value.whole ? '' : 'There are more events than the page draws: what is older is left out. '}{past.value.fault ? <span class="warn">! The history could not be read: {past.value.fault}</span> : null}</p>
      <section class="panel lanes" aria-label="Lanes">
        {lanes.length === 0 ? <p class="faint">{isRead ? `No scope${q ? ' of this name' : ' yet'}.` : unread}</p> : (
          <>
            <div class="lane-box">
              {narrow ? null : <Names of={shown} />}
              <Canvas lanes={shown} look={look} choose={choose} />
            </div>
            {lanes.length > shown.length ? <button type="button" class="quiet" onClick={() => more.value++}>Show more lanes ({lanes.length - shown.length} are below)</button> : null}
            <Brush look={look} />
            <Legend lanes={shown} look={look} />
          </>
        )}
      </section>
      {chosen ? <Chosen lane={chosen.lane} term={chosen.term} every={every} since={Math.min(at.from, past.value.from)} /> : null}
      <h2>Longest times without a leader in view</h2>
      {longest.length === 0 ? <p class="panel faint">{isRead ? 'None: each scope was led all the time that is drawn here.' : unread}</p> : <Longest list={longest} every={every} choose={choose} />}
    </>
  )
}

let made: { events: Event[]; rows: Row[]; back: number; from: number; at: number; lanes: Lane[] } | null = null

/**
 * lanesOf makes a lane of each scope, sorted by scope. They are kept until something has happened, or half a second: while a hand moves the
 * view there is a frame each 16 ms, and only what is in view changes.
 */
function lanesOf(at: { from: number; to: number }): Lane[] {
  const [events, list, back] = [together.value, rows.value, past.value.from]
  if (made?.events === events && made.rows === list && made.back === back && made.from <= at.from && performance.now() - made.at < 450) return made.lanes
  const of = byScope(events)
  const known = new Map(list.map((r) => [r.scope, r]))
  const end = serverNow()
  const from = at.from < back ? at.from - 2 * (at.to - at.from) : back // what was not read yet is left as it was while the view moves on
  const lanes = [...new Set([...known.keys(), ...of.keys()])].sort().map((scope) => {
    const row = known.get(scope)
    return { scope, lease: row?.lease_ms ?? 3000, terms: termsOf(of.get(scope) ?? [], row, from, end + month, end) }
  })
  made = { events, rows: list, back, from, at: performance.now(), lanes }
  return lanes
}

interface Found { lane: Lane; term: Term }

/** inView puts those without a leader for the longest time in view first, and finds the longest of these times. */
function inView(every: Lane[], at: { from: number; to: number }): { lanes: Lane[]; longest: Found[] } {
  let longest: Found[] = []
  let least = -1
  const few = () => {
    longest = longest.sort((a, b) => without(b.term) - without(a.term)).slice(0, 10)
    if (longest.length === 10) least = without(longest[9]!.term)
  }
  const ranked = every.map((lane) => {
    let worst = 0
    for (let i = firstAfter(lane.terms, at.from); i < lane.terms.length; i++) {
      const term = lane.terms[i]!
      if (term.from > at.to) break
      if (term.holder !== '') continue
      const ms = without(term)
      if (ms > worst && gradeOf(ms, lane.lease) !== 'tick') worst = ms
      if (ms > least && longest.push({ lane, term }) > 64) few()
    }
    return { lane, worst }
  })
  few()
  return { lanes: ranked.sort((a, b) => b.worst - a.worst).map((r) => r.lane), longest }
}

function find(lanes: Lane[], sel: string | null): Found | null {
  const [, from, scope] = /^(\d+(?:\.\d+)?)@(.*)$/s.exec(sel ?? '') ?? []
  const lane = lanes.find((l) => l.scope === scope)
  const term = lane?.terms.find((t) => Math.abs(t.from - Number(from)) < (t.open && t.holder === '' ? 60_000 : 1)) // when a leader that is gone was heard last is told anew with each row
  return lane && term ? { lane, term } : null
}

function Tools({ at, q }: { at: { from: number; to: number; follows: boolean }; q: string }) {
  const wide = at.to - at.from
  const zoom = (by: number) => keep(at.from + (wide - wide * by) / 2, at.from + (wide + wide * by) / 2)
  return (
    <div class="tools">
      {windows.map(([name, ms]) => (
        <button type="button" class="chip" key={name} aria-pressed={Math.abs(wide / 1.01 - ms) < ms * 0.02} onClick={() => set({ w: name.replace(' ', ''), from: undefined, to: undefined })}>{name}</button>
      ))}
      <button type="button" class="chip" aria-pressed={at.follows} onClick={() => set({ from: undefined, to: undefined })}>Follow now</button>
      <button type="button" class="chip" aria-label="Earlier" onClick={() => keep(at.from - wide / 2, at.to - wide / 2)}>←</button>
      <button type="button" class="chip" aria-label="Later" onClick={() => keep(at.from + wide / 2, at.to + wide / 2)}>→</button>
      <button type="button" class="chip" aria-label="Zoom in" onClick={() => zoom(0.5)}>+</button>
      <button type="button" class="chip" aria-label="Zoom out" onClick={() => zoom(2)}>−</button>
      <input type="search" id="filter" placeholder="Lanes by scope" aria-label="Filter lanes by scope" value={q} onInput={(e) => set({ q: e.currentTarget.value })} />
    </div>
  )
}

function Canvas({ lanes, look, choose }: { lanes: Lane[]; look: Look; choose: (lane: Lane, term: Term) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const drag = useRef<{ x: number; from: number; to: number; moved: boolean } | null>(null)
  const wide = look.to - look.from
  useEffect(() => {
    const at = canvas.current!
    const high = `${heightOf(lanes.length, look.named)}px`
    if (at.style.height !== high) at.style.setProperty('height', high)
    const frame = requestAnimationFrame(() => draw(at, lanes, look))
    return () => cancelAnimationFrame(frame)
  })
  useEffect(() => {
    const at = canvas.current!
    const again = () => draw(at, lanes, look)
    addEventListener('resize', again)
    return () => removeEventListener('resize', again)
  })
  const per = () => wide / (canvas.current?.clientWidth || 1)
  const wheel = (e: WheelEvent) => {
    if (!e.ctrlKey && !e.altKey && !e.metaKey && Math.abs(e.deltaX) <= Math.abs(e.deltaY) && !e.shiftKey) return // the page scrolls
    e.preventDefault()
    if (e.ctrlKey || e.altKey || e.metaKey) {
      const by = Math.exp(Math.sign(e.deltaY) * 0.25)
      const pivot = look.from + e.offsetX * per()
      keep(pivot - (pivot - look.from) * by, pivot + (look.to - pivot) * by)
    } else {
      const d = (e.deltaX || e.deltaY) * per()
      keep(look.from + d, look.to + d)
    }
  }
  useEffect(() => {
    const at = canvas.current!
    at.addEventListener('wheel', wheel, { passive: false }) // the framework's listeners are passive
    return () => at.removeEventListener('wheel', wheel)
  })
  const keys = (e: KeyboardEvent) => {
    const does: Record<string, () => void> = {
      ArrowLeft: () => keep(look.from - wide / 4, look.to - wide / 4), ArrowRight: () => keep(look.from + wide / 4, look.to + wide / 4),
      '+': () => keep(look.from + wide / 4, look.to - wide / 4), '-': () => keep(look.from - wide / 2, look.to + wide / 2),
    }
    const it = does[e.key]
    if (it) {
      e.preventDefault()
      it()
    }
  }
  return (
    <canvas ref={canvas} tabIndex={0} role="img" class={look.named ? 'named' : ''}
      aria-label={`${lanes.length} lanes, who led when. Arrow keys move, plus and minus zoom. The table below says the same of the times without a leader.`}
      onKeyDown={keys}
      onPointerDown={(e) => {
        e.currentTarget.setPointerCapture(e.pointerId)
        drag.current = { x: e.clientX, from: look.from, to: look.to, moved: false }
      }}
      onPointerMove={(e) => {
        const d = drag.current
        if (!d) return
        if (Math.abs(e.clientX - d.x) > 4) d.moved = true
        if (d.moved) keep(d.from - (e.clientX - d.x) * per(), d.to - (e.clientX - d.x) * per())
      }}
      onPointerCancel={() => (drag.current = null)}
      onPointerUp={(e) => {
        const d = drag.current
        drag.current = null
        if (d?.moved) return
        const at = hit(lanes, look, canvas.current!.clientWidth, e.offsetX, e.offsetY)
        if (at) choose(at.lane, at.term)
      }} />
  )
}

/** Names are those of the lanes; the same ones in the same order are not drawn anew. */
function Names({ of }: { of: Lane[] }) {
  return useMemo(() => <div class="lane-names">{of.map((l) => <a key={l.scope} href={link('leaders/s', { scope: l.scope })}><Name of={l.scope} most={24} /></a>)}</div>, [of.map((l) => l.scope).join('\0')])
}

/** gaps are all times without a leader. */
const gaps = computed<Gap[]>(() => {
  const lease = new Map(rows.value.map((r) => [r.scope, r.lease_ms]))
  return together.value.filter((e) => e.event === 'acquired' && (e.gap_ms ?? 0) > 0).map((e) => ({ at: dateOf(e), ms: e.gap_ms!, lease: lease.get(e.scope) ?? 3000 }))
})

/** Brush is the month: where nobody led, and the part in view, which can be dragged. */
function Brush({ look }: { look: Look }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const to = serverNow()
  useEffect(() => drawBrush(canvas.current!, gaps.value, { from: to - month, to }, look))
  const go = (e: PointerEvent) => {
    if (e.buttons !== 1) return
    const middle = to - month + (e.offsetX / canvas.current!.clientWidth) * month
    const wide = look.to - look.from
    keep(middle - wide / 2, middle + wide / 2)
  }
  return (
    <div class="brush">
      <canvas ref={canvas} aria-hidden="true" onPointerDown={go} onPointerMove={go} />
      <span class="faint small">30 days, the part in view framed. {past.value.from > to - month + hour ? <button type="button" class="quiet" onClick={() => void fetchPast(to - month)}>Read all of it</button> : null}</span>
    </div>
  )
}

function Legend({ lanes, look }: { lanes: Lane[]; look: Look }) {
  const holders = new Set<string>()
  for (const { terms } of lanes) for (let i = firstAfter(terms, look.from); i < terms.length && terms[i]!.from <= look.to; i++) if (terms[i]!.holder) holders.add(terms[i]!.holder)
  const list = [...holders].sort()
  return useMemo(() => (
    <p class="legend small">
      {list.slice(0, 8).map((h) => <Holder key={h} of={h} />)}{holders.size > 8 ? <span>and {holders.size - 8} more</span> : null}
      <span><i class="mark tick" aria-hidden="true" /> nobody led for less than a lease</span>
      <span><i class="mark short" aria-hidden="true" /> for longer</span>
      <span><i class="mark long" aria-hidden="true" /> for more than 30 s</span>
    </p>
  ), [hues.value, list.join('\0')])
}

/** besides counts the other scopes that nobody led in a part of a time: what they have in common is in the way. */
const besides = (every: Lane[], lane: Lane, term: Term) =>
  every.filter((l) => l !== lane && l.terms.some((t) => t.holder === '' && t.from < term.to && t.to > term.from && gradeOf(without(t), l.lease) !== 'tick')).length

/** Chosen is one bar in words. */
function Chosen({ lane, term, every, since }: { lane: Lane; term: Term; every: Lane[]; since: number }) {
  const too = term.holder ? 0 : besides(every, lane, term)
  const box = useRef<HTMLElement>(null)
  useEffect(() => box.current?.scrollIntoView({ block: 'nearest' }), [lane.scope, term.from]) // it may be out of sight of what was chosen
  const at = lane.terms.indexOf(term)
  const before = lane.terms[at - 1]
  const after = lane.terms[at + 1]
  const from = term.holder ? Math.max(term.from, since) : term.from // what is before may be another's
  const times = <>from <Instant at={new Date(from).toISOString()} dated /> {term.open ? (live.value ? 'until now' : 'until it was not known any more') : <>to <Instant at={new Date(term.to).toISOString()} dated /></>} ({span(term.to - from)})</>
  return (
    <section ref={box} class="panel chosen" role="status" aria-label="Chosen">
      <p>
        <b><Name of={lane.scope} most={60} /></b>: {term.holder
          ? <><Holder of={term.holder} /> led at epoch {term.epoch} {times}.{before?.holder === '' ? <> Before it nobody led for <b class={gradeOf(without(before), lane.lease) === 'long' ? 'bad' : ''}>{span(without(before))}</b>: {before.why ? <Drawn text={before.why} /> : 'the reason was not recorded'}.</> : null}{term.ended ? <> It ended: <Drawn text={term.ended} />.</> : null}</>
          : <><b class="bad">nobody</b> led {times}. {before?.holder ? <><Holder of={before.holder} leads={false} /> had led before. </> : null}Why: {term.why ? <Drawn text={term.why} /> : 'the reason was not recorded'}.{after?.holder ? <> Then <Holder of={after.holder} /> led, at epoch {after.epoch}.</> : null}{too > 0 ? ` In that time nobody led ${count(too, 'other scope')} either: look at what they have in common, the database and the network first.` : ''}</>}
      </p>
      <p class="buttons"><a class="button" href={link('events', { scope: lane.scope })}>Events of this scope</a><Copy text={here()}>Copy link</Copy></p>
    </section>
  )
}

function Longest({ list, every, choose }: { list: Found[]; every: Lane[]; choose: (lane: Lane, term: Term) => void }) {
  return useMemo(() => (
    <div class="panel scrolls longest" tabIndex={0} role="region" aria-label="Longest times without a leader">
      <table role="table">
        <thead role="rowgroup"><tr role="row"><th role="columnheader">Scope</th><th role="columnheader">When</th><th role="columnheader" class="number">Nobody led for</th><th role="columnheader">Then</th><th role="columnheader">Why</th></tr></thead>
        <tbody role="rowgroup">{list.map(({ lane, term }) => {
          const after = lane.terms[lane.terms.indexOf(term) + 1]
          const grade = gradeOf(without(term), lane.lease)
          return (
            <tr key={lane.scope + term.from} role="row">
              <td role="cell"><button type="button" class="quiet" onClick={() => choose(lane, term)}><Name of={lane.scope} /></button></td>
              <td role="cell"><Instant at={new Date(term.from).toISOString()} dated /></td>
              <td role="cell" class={'number ' + { tick: '', short: 'warn', long: 'bad' }[grade]}>{grade === 'long' ? '✕ ' : grade === 'short' ? '! ' : ''}{span(without(term))}</td>
              <td role="cell" class="whole">{after?.holder ? <><Holder of={after.holder} /> <span class="faint">epoch {after.epoch}</span></> : !term.open ? '–' : live.value ? <span class="bad">{signs.nobody.sign} nobody yet</span> : <span class="warn">? not known now</span>}</td>
              <td role="cell"><Drawn text={term.why || 'not recorded'} /></td>
            </tr>
          )
        })}</tbody>
      </table>
    </div>
  ), [every, live.value, hues.value, list.map(({ lane, term }) => term.from + lane.scope).join('\0')])
}

