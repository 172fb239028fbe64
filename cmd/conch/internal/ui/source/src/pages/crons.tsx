// Crons: what was, what comes, and what of it went wrong. A strip has the last runs and the next times of each.
import { useSignal } from '@preact/signals'
import { link, set, view } from '../address'
import { Copy, useNarrow } from '../parts'
import { count, Drawn, Instant, middle, Name, plain, zone } from '../text'
import { asking, type Deed, Question } from '../dialog'
import { bad, calm, good, tell, warn } from '../model'
import { Facts, Mark, type Said, Sentence, type Tone, type Word } from './parts'
import { asJSON, away, calls, type Cron, jobLink, Lines, kindOf, noDatabase, nowhere, type Past, runOf } from './work'
import { useDatabase } from './reading'

const shown = 12 // of the last runs
const most = 200 // crons in an answer

/** What somebody is about to do with a cron. */
const { ask, Asked } = asking<Deed>()

/** standOf says whether a cron needs somebody. */
function standOf(c: Cron): Word {
  const last = (c.past ?? (c.last ? [c.last] : []))[0]
  if (c.fault) return bad('cannot be read')
  if (c.paused) return calm('paused', '‖')
  if (c.due_at) return bad('nobody runs it')
  if (last?.ended === 'dead') return bad('failed for good')
  if (last?.outcome === 'skipped') return warn('skipped')
  if (last?.ended === 'failed' || last?.ended === 'lost') return warn('is tried again')
  if (!last) return calm(c.settled_at ? 'not due yet' : 'no leader yet')
  return good('runs')
}

const order: Tone[] = ['bad', 'warn', 'good', 'calm']

const worstFirst = (all: Cron[]) => [...all].sort((a, b) => order.indexOf(standOf(a).tone) - order.indexOf(standOf(b).tone) || (a.name < b.name ? -1 : 1))

function saidOf(all: Cron[]): Said {
  const of = (tone: Tone) => all.filter((c) => standOf(c).tone === tone)
  const [ill, odd] = [of('bad'), of('warn')]
  const paused = all.filter((c) => c.paused).length
  const named = (some: Cron[]) => some.slice(0, 4).map((c) => `${middle(plain(c.name), 34)}: ${standOf(c).word}`).join(', ') + (some.length > 4 ? ', …' : '') + '.'
  const next = all.filter((c) => c.next[0]).sort((a, b) => Date.parse(a.next[0]!) - Date.parse(b.next[0]!))[0]
  const more = (next ? `Next: ${plain(next.name)}, ${away(next.next[0]!)}.` : '') + (paused ? ` ${count(paused, 'cron')} ${paused === 1 ? 'is' : 'are'} paused.` : '')
  const crons = count(all.length, 'cron')
  if (all.length === 0) return tell(calm, 'There is no cron', 'A [[crons]] table in the configuration of a node makes one: name, schedule and command.')
  if (ill.length > 0) return tell(bad, `${ill.length} of ${crons} ${ill.length === 1 ? 'needs' : 'need'} somebody`, named([...ill, ...odd]))
  if (odd.length > 0) return tell(warn, `The last run of ${odd.length} of ${crons} did not go well`, named(odd))
  if (paused === all.length) return tell(calm, all.length === 1 ? 'The one cron is paused' : `All ${crons} are paused`, 'Nothing is due until somebody resumes them.', '‖')
  return tell(good, all.length === 1 ? 'The one cron runs' : `All ${crons} run`, more)
}

/** Runs is the strip: the last runs, the newest at the right, then now, then the next times. */
function Runs({ cron, known }: { cron: Cron; known: boolean }) {
  const past = (cron.past ?? []).slice(0, shown).reverse()
  const well = past.filter((p) => p.ended === 'done').length
  const ill = past.filter((p) => ['bad', 'warn'].includes(runOf(p).tone)).length
  return (
    <span class="runs" role="img" aria-label={`The last ${count(past.length, 'run')}: ${well} done, ${ill} not well. ${cron.next[0] ? `Next ${away(cron.next[0])}.` : 'Nothing is due.'}`}>
      <span class="was">{past.length === 0 ? <span class="faint small">nothing yet</span> : past.map((p) => {
        const r = runOf(p)
        return <i key={p.at} class={'run ' + (known ? r.tone : 'unknown')} title={`${p.at.replace('T', ' ').replace('Z', ' UTC')}: ${r.word}`}>{r.sign}</i>
      })}</span>
      <i class="border" />
      <span class="due">{cron.next.map((at) => <i key={at} class="run" title={`due ${at.replace('T', ' ').replace('Z', ' UTC')}`}>·</i>)}</span>
    </span>
  )
}

function Buttons({ cron, known }: { cron: Cron; known: boolean }) {
  return (
    <span class="does">
      <button type="button" disabled={!known} onClick={() => ask(runs(cron))}>Run now…</button>
      <button type="button" disabled={!known} onClick={() => ask(cron.paused ? resumes(cron) : pauses(cron))}>{cron.paused ? 'Resume…' : 'Pause…'}</button>
    </span>
  )
}

export function Page() {
  if (view.value.path === 'crons/c') return <One key={view.value.query.get('cron')} name={view.value.query.get('cron') ?? ''} />
  return <All />
}

function All() {
  const q = view.value.query.get('q') ?? ''
  const after = view.value.query.get('after') ?? ''
  const { reading, sight } = useDatabase<{ crons: Cron[] }>('v1/crons', { limit: most, past: shown, next: 3, after }, ['job'])
  const narrow = useNarrow()
  const none = noDatabase(reading)
  const all = worstFirst(reading.value?.crons ?? [])
  const needle = q.toLowerCase()
  const some = all.filter((c) => !needle || [c.name, c.queue, calls(c.handler)].some((t) => t.toLowerCase().includes(needle)))
  return (
    <div class={'work' + (sight.known ? '' : ' unsure')}>
      <Sentence title="Crons" sight={none ? { ...sight, known: true } : sight} said={none ? nowhere : reading.value ? saidOf(all) : null} database />
      {all.length > 8 || after ? (
        <div class="tools">
          <input type="search" id="filter" placeholder="Cron, queue or what it calls" aria-label="Filter crons" value={q} onInput={(e) => set({ q: e.currentTarget.value })} />
          <span class="faint">{some.length} of {all.length}</span>
          {after ? <a href={link('crons')}>From the first</a> : null}
          {all.length === most ? <a href={link('crons', { after: reading.value?.crons[most - 1]?.name })}>The next {most}</a> : null}
        </div>
      ) : null}
      {all.length > 0 ? (
        <ul class="stack" aria-label="Crons, trouble first">
          {some.map((c) => (
            <li key={c.name} class={'panel cron state-of ' + (sight.known ? standOf(c).tone : 'unknown')}>
              <div class="of">
                <h2><a href={link('crons/c', { cron: c.name })} data-row><Name of={c.name} most={narrow ? 18 : 32} /></a></h2>
                <span class="faint small"><code><Drawn text={c.schedule} /></code>{c.timezone && c.timezone !== 'UTC' ? <> in {plain(c.timezone)}</> : ' UTC'}</span>
              </div>
              <Mark known={sight.known} {...standOf(c)} />
              <Runs cron={c} known={sight.known} />
              <span class="comes">{c.paused ? <span class="faint">nothing is due</span> : c.next[0] ? <><span class="faint">next </span>{sight.known ? away(c.next[0]) + ' ' : null}<span class="faint small"><Instant at={c.next[0]} dated /></span></> : null}</span>
              <Buttons cron={c} known={sight.known} />
              {c.fault ? <p class={'obstacle' + (sight.known ? ' bad' : '')}><Drawn text={c.fault} /></p> : null}
            </li>
          ))}
        </ul>
      ) : null}
      {all.length > 0 && some.length === 0 ? <p class="panel faint">No cron is like that. <button type="button" class="quiet" onClick={() => set({ q: '' })}>Show all</button></p> : null}
      {all.length > 0 ? <p class="legend small"><span>✓ done</span><span>! is tried again</span><span>✕ failed for good</span><span>∅ skipped</span><span>▸ not over</span><span>· comes</span><span>Times of {zone}.</span></p> : null}
      <Asked draw={(deed, close) => <Question deed={{ ...deed, may: sight.known }} close={close} />} />
    </div>
  )
}

function One({ name }: { name: string }) {
  const before = useSignal('')
  const { reading, sight } = useDatabase<Cron>('v1/cron', { cron: name, next: 5, limit: 50, before: before.value }, ['job'])
  const c = reading.value
  const gone = !c && reading.refused?.status === 404
  return (
    <div class={'work' + (sight.known ? '' : ' unsure')}>
      <p class="crumb"><a href={link('crons')}>Crons</a></p>
      {gone ? <section class="panel"><h1><Name of={name} most={60} /></h1><p>{noDatabase(reading) ? nowhere.text : 'There is no cron of this name. It may have been retired, or the link is of another cluster.'}</p></section>
        : !c || !sight.known ? <Sentence title="One cron" sight={sight} said={null} database /> : null}
      {c ? (
        <>
          <section class={'panel one state-of ' + (sight.known ? standOf(c).tone : 'unknown')}>
            <div class="line"><h1><Name of={c.name} most={60} /></h1><Copy text={c.name}>Copy its name</Copy><span class="right"><Mark known={sight.known} {...standOf(c)} /></span></div>
            {c.fault ? <p class={'obstacle' + (sight.known ? ' bad' : '')}><Drawn text={c.fault} /></p> : null}
            {c.due_at ? <p class={'obstacle' + (sight.known ? ' bad' : '')}><b>In the way: </b>nobody has run it since <Instant at={c.due_at} dated />. <a href={link('leaders')}>Leaders</a> says whether the scope of its scheduler is led.</p> : null}
            <Facts all={[
              ['Schedule', <><code><Drawn text={c.schedule} /></code> <span class="faint">{plain(c.timezone || 'UTC')}</span></>],
              ['Next', c.paused ? 'nothing, it is paused' : <>{sight.known && c.next[0] ? away(c.next[0]) : ''} {c.next.slice(0, 3).map((at, i) => <span key={at} class="faint">{i ? ' · ' : ' '}<Instant at={at} dated /></span>)}</>],
              [kindOf(c.handler) === 'handler' ? 'Calls' : `Calls the ${kindOf(c.handler)}`, <Drawn text={calls(c.handler)} />],
              ['In the queue', <><a href={link('jobs', { queue: c.queue })}><Name of={c.queue} /></a> <span class="faint">priority {c.priority}</span></>],
              ['Retries, timeout', <>{c.retries}, {c.timeout}</>],
              ['While an earlier job goes on', { skip: 'skip the time', queue: `queue, ${c.waits} at most`, allow: 'run beside it' }[c.overlap] ?? plain(c.overlap)],
              ['Times that were missed', { none: `passed over if late by ${c.late}`, latest: `the latest is made up for`, all: `made up for, ${c.limit} at most` }[c.catch_up] ?? plain(c.catch_up)],
              ['Since', <><Instant at={c.since} dated /> <span class="faint">by <Name of={c.by} />{c.filed ? ', from a file' : ''}{c.adopted ? '' : ', not adopted by a leader yet'}</span></>],
            ]} />
            {asJSON(c.args) === '{}' ? null : <Lines text={asJSON(c.args)} />}
            <div class="buttons"><Buttons cron={c} known={sight.known} /></div>
          </section>
          <div class="halves">
            <section class="panel" aria-label="Its times">
              <h2>Its times</h2>
              {(c.past ?? []).length === 0 ? <p class="faint">None{before.value ? ' that are older' : ' yet'}.</p> : (
                <ol class="times">{c.past!.map((p) => <li key={p.at}><Time p={p} known={sight.known} /></li>)}</ol>
              )}
              <p class="buttons">
                {before.value ? <button type="button" onClick={() => (before.value = '')}>The newest</button> : null}
                {(c.past ?? []).length === 50 ? <button type="button" disabled={!sight.known} onClick={() => (before.value = c.past![49]!.at)}>Older</button> : null}
              </p>
            </section>
            <section class="panel" aria-label="Passed over">
              <h2>Passed over</h2>
              {(c.gaps ?? []).length === 0 ? <p class="faint">No time was passed over that is still known of.</p> : (
                <ul class="times">{c.gaps!.map((g) => <li key={g.from}><span class="line"><span><span aria-hidden="true">! </span>{count(g.count, 'time')}: <Drawn text={g.why} /></span><span class="faint right"><Instant at={g.from} dated /> to <Instant at={g.to} dated /></span></span></li>)}</ul>
              )}
            </section>
          </div>
        </>
      ) : null}
      <Asked draw={(deed, close) => <Question deed={{ ...deed, may: sight.known }} close={close} />} />
    </div>
  )
}

function Time({ p, known }: { p: Past; known: boolean }) {
  const r = runOf(p)
  return (
    <span class="line">
      <span class="cut"><b class={'mark-of ' + (known ? r.tone : '')} aria-hidden="true">{r.sign}</b> {r.word}{p.by_hand ? <span class="faint">, by hand</span> : null}</span>
      <span class="right faint"><a href={jobLink(p.job)}>job {p.job}</a> <Instant at={p.at} dated /></span>
    </span>
  )
}

const body = (cron: Cron) => () => ({ cron: cron.name })

const runs = (c: Cron): Deed => ({
  title: <>Run <Name of={c.name} /> now</>, verb: 'Run it', path: 'v1/cron/run', body: body(c), may: true,
  says: [
    <>The queue <Name of={c.queue} /> gets one more job, which calls <Drawn text={calls(c.handler)} />.</>,
    c.overlap === 'allow' ? 'It begins as soon as a worker is free, also beside an earlier one of this cron.' : 'It begins as soon as a worker is free and no earlier job of this cron goes on.',
    'The schedule stays as it is. Among its times this one stands as run by hand.',
  ],
  done: (got) => {
    const run = (got.runs as Past[] | undefined)?.[0]
    return run ? <><a href={jobLink(run.job)}>Job {run.job}</a> {run.outcome === 'enqueued' ? 'was added.' : 'was there already.'}</> : 'It was asked for.'
  },
})

const pauses = (c: Cron): Deed => ({
  title: <>Pause <Name of={c.name} /></>, verb: 'Pause it', path: 'v1/cron/pause', body: body(c), may: true,
  says: [
    <>Nothing of it is due from now on{c.next[0] ? <>, not at <Instant at={c.next[0]} dated /> either</> : null}, until somebody resumes it.</>,
    'Jobs that it has made go on.', 'What it would have run meanwhile is passed over, and its revision names the one that asked.',
  ],
  done: () => 'It is paused.',
})

const resumes = (c: Cron): Deed => ({
  title: <>Resume <Name of={c.name} /></>, verb: 'Resume it', path: 'v1/cron/resume', body: body(c), may: true,
  says: ['It is due again from now on, by its schedule.', 'The times of the pause are not made up for.', 'Its revision names the one that asked.'],
  done: (got) => <>It runs again{(got.next as string[])[0] ? <>: next <Instant at={(got.next as string[])[0]!} dated /></> : null}.</>,
})
