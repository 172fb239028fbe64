// Jobs: how deep each queue is and for how long its first job waits, the jobs themselves, and one with the error of each attempt.
import { useSignal } from '@preact/signals'
import { link, set, view } from '../address'
import { read, type Refusal } from '../api'
import { asking, type Deed, Question } from '../dialog'
import { bad, calm, good, tell, warn } from '../model'
import { Copy, useNarrow, Virtual } from '../parts'
import { Drawn, count, Instant, middle, Name, plain, span, zone } from '../text'
import { Facts, Mark, type Said, Sentence } from './parts'
import { asJSON, away, calls, coarse, endOf, type Job, type JobState, kindOf, Lines, noDatabase, nowhere, open, type Queue, type Queues, states } from './work'
import { useDatabase } from './reading'

const some = 100
const longWait = 60_000

/** What somebody is about to do. */
const { ask, Asked } = asking<Deed>()

function saidOf(q: Queues): Said {
  const all = q.queues
  const sum = (of: (q: Queue) => number) => all.reduce((n, one) => n + of(one), 0)
  const [ready, taken, later, dead] = [sum((q) => q.ready), sum((q) => q.taken), sum((q) => q.later + q.waiting), sum((q) => q.dead)]
  const slow = all.filter((q) => q.oldest_ready_ms > longWait).sort((a, b) => b.oldest_ready_ms - a.oldest_ready_ms)
  const more = `${count(ready, 'job')} ready, ${taken.toLocaleString('en')} at work, ${later.toLocaleString('en')} later, ${dead.toLocaleString('en')} dead.`
  if (q.held) return tell(bad, 'No job is taken: the database was restored', `What is still to be done may have been done before. Look at the jobs, cancel what is not to be done again, then release the others. ${more}`)
  if (slow[0]) return tell(warn, `${count(slow.length, 'queue')} ${slow.length === 1 ? 'waits' : 'wait'} for a worker`, `The first job of ${plain(slow[0].queue)} has waited for ${coarse(slow[0].oldest_ready_ms)}. ${more}`)
  if (dead > 0) return tell(warn, `${count(dead, 'job')} ${dead === 1 ? 'has' : 'have'} failed as often as ${dead === 1 ? 'it' : 'they'} may`, more)
  if (ready + taken + later === 0) return tell(calm, 'There is nothing to do', 'A cron makes jobs, and so do conch jobs add and SELECT conch.job_add(…).')
  return tell(good, `${count(ready + taken + later, 'job')}, and no queue waits for a worker`, more)
}

export function Page() {
  if (view.value.path === 'jobs/j') return <One key={view.value.query.get('id')} id={view.value.query.get('id') ?? ''} />
  return <All />
}

function All() {
  const q = view.value.query
  const [queue, state] = [q.get('queue') ?? '', q.get('state') ?? '']
  const queues = useDatabase<Queues>('v1/queues', {}, ['job'])
  const none = noDatabase(queues.reading)
  const known = queues.sight.known
  const held = queues.reading.value?.held === true
  return (
    <div class={'work' + (known ? '' : ' unsure')}>
      <Sentence title="Jobs" sight={none ? { ...queues.sight, known: true } : queues.sight} said={none ? nowhere : queues.reading.value ? saidOf(queues.reading.value) : null} database />
      {held ? <p class="buttons first"><button type="button" class="main" disabled={!known} onClick={() => ask(releases(queues.reading.value!))}>Release them…</button></p> : null}
      {queues.reading.value && queues.reading.value.queues.length > 0 ? <Depths all={queues.reading.value.queues} chosen={queue} known={known} /> : null}
      {none ? null : (
        <>
          <div class="tools">
            <select aria-label="State" value={state} onChange={(e) => set({ state: e.currentTarget.value })}>
              <option value="">every state, also ended</option>
              {open.map((s) => <option key={s} value={s}>{states[s].word}</option>)}
            </select>
            {queue ? <button type="button" class="chip" aria-pressed="true" onClick={() => set({ queue: '' })} title="Show all queues">queue {plain(middle(queue, 20))} ✕</button> : null}
            {queue || state ? <button type="button" class="quiet" onClick={() => set({ queue: '', state: '' })}>Show all</button> : null}
            <span class="faint small">Times of {zone}.</span>
          </div>
          <List key={queue + ' ' + state} queue={queue} state={state} />
        </>
      )}
      <Asked draw={(deed, close) => <Question deed={{ ...deed, may: known }} close={close} />} />
    </div>
  )
}

/** Depths are the queues. A press on one selects its jobs. */
function Depths({ all, chosen, known }: { all: Queue[]; chosen: string; known: boolean }) {
  return (
    <div class="panel scrolls" tabIndex={0} role="region" aria-label="Queues">
      <table class="queues">
        <thead><tr><th>Queue</th><th class="number">Ready</th><th class="number">First waits</th><th class="number">At work</th><th class="number">Later</th><th class="number">In a lane</th><th class="number">Dead</th></tr></thead>
        <tbody>{all.map((q) => {
          const slow = known && q.oldest_ready_ms > longWait
          return (
            <tr key={q.queue} class={q.queue === chosen ? 'chosen-row' : ''}>
              <td><a data-row href={link('jobs', { queue: q.queue })} aria-current={q.queue === chosen ? 'true' : undefined}><Name of={q.queue} most={30} /></a></td>
              <td class="number">{q.ready.toLocaleString('en')}</td>
              <td class={'number' + (slow ? ' warn' : '')}>{q.ready === 0 ? '–' : <>{slow ? '! ' : ''}{known ? coarse(q.oldest_ready_ms) : '?'}</>}</td>
              <td class="number">{q.taken.toLocaleString('en')}</td>
              <td class="number">{q.later.toLocaleString('en')}</td>
              <td class="number">{q.waiting.toLocaleString('en')}</td>
              <td class={'number' + (known && q.dead ? ' bad' : '')}>{q.dead ? <a href={link('dead', { queue: q.queue })}>✕ {q.dead.toLocaleString('en')}</a> : '0'}</td>
            </tr>
          )
        })}</tbody>
      </table>
    </div>
  )
}

/** List are the newest jobs of a selection; what is older is read on demand. */
function List({ queue, state }: { queue: string; state: string }) {
  const { reading, sight } = useDatabase<{ jobs: Job[] }>('v1/jobs', { queue, state, limit: some }, ['job'])
  const older = useOlder('v1/jobs', { queue, state })
  const newest = reading.value?.jobs ?? []
  const all = [...newest, ...older.jobs.filter((j) => j.id < (newest[newest.length - 1]?.id ?? 0))]
  return (
    <>
      {reading.value === null ? <p class="faint">{reading.refused ? `The jobs could not be read: ${reading.refused.message}` : 'Asking the node…'}</p>
        : all.length === 0 ? <p class="panel faint">{queue || state ? 'No job is like that.' : 'No job is known.'}</p> : <Rows all={all} known={sight.known} />}
      {newest.length === some ? <Older of={older} before={all[all.length - 1]?.id} known={sight.known} /> : null}
    </>
  )
}

/** Rows are jobs as lines, of which those in view are drawn. */
export function Rows({ all, known, mark }: { all: Job[]; known: boolean; mark?: (j: Job) => preact.JSX.Element }) {
  const narrow = useNarrow()
  return (
    <div class={'panel lines' + (mark ? ' marked' : '')}>
      {narrow ? null : <div class="row head" aria-hidden="true">{mark ? <span /> : <span>State</span>}<span class="number">Job</span><span>Calls</span><span>Queue</span><span>When</span><span>Why</span></div>}
      <Virtual items={all} height={narrow ? 62 : 38} label="Jobs, the newest first" keyOf={(j) => j.id} draw={(j) => (
        <>
          {mark ? mark(j) : <Mark known={known} {...states[j.state]} />}
          <a class="number" data-row href={link('jobs/j', { id: String(j.id) })}>{j.id}</a>
          <span class="cut"><Name of={calls(j.handler)} most={narrow ? 24 : 40} /></span>
          <span class="cut faint"><Name of={j.queue} most={18} /></span>
          <span class="cut faint">{j.moment ? <Instant at={j.moment} dated /> : '–'}{j.attempt > 1 ? `, attempt ${j.attempt}` : ''}</span>
          <span class={'cut ' + (known && j.state === 'dead' ? 'bad' : 'faint')} title={plain((j.why ?? '').slice(0, 1000))}><Drawn text={(j.why ?? j.progress ?? '').slice(0, 200)} /></span>
        </>
      )} />
    </div>
  )
}

export interface OlderJobs { jobs: Job[]; busy: boolean; fault: string; end: boolean; more: (before: number, most: number) => Promise<void> }

/** useOlder keeps what was read of a list beyond its newest part. */
export function useOlder(path: string, query: Record<string, string>): OlderJobs {
  const state = useSignal<{ jobs: Job[]; busy: boolean; fault: string; end: boolean }>({ jobs: [], busy: false, fault: '', end: false })
  const more = async (before: number, most: number) => {
    state.value = { ...state.value, busy: true, fault: '' }
    try {
      const got = (await read<{ jobs: Job[] }>(path, { ...query, before, limit: most })).jobs
      state.value = { jobs: [...state.value.jobs, ...got], busy: false, fault: '', end: got.length < most }
    } catch (e) {
      state.value = { ...state.value, busy: false, fault: (e as Refusal).message }
    }
  }
  return { ...state.value, more }
}

export function Older({ of, before, known, most = some }: { of: OlderJobs; before: number | undefined; known: boolean; most?: number }) {
  return (
    <div class="tools">
      {of.end ? <span class="faint">There is nothing older.</span> : <button type="button" disabled={of.busy || !known || before === undefined} onClick={() => void of.more(before!, most)}>{of.busy ? 'Reading…' : `Read ${most.toLocaleString('en')} older`}</button>}
      {of.fault ? <span class="warn" role="alert">! They could not be read: {of.fault}</span> : null}
    </div>
  )
}

const cancellable: JobState[] = ['ready', 'later', 'waiting', 'taken']

function One({ id }: { id: string }) {
  const { reading, sight } = useDatabase<Job>(/^\d{1,19}$/.test(id) ? `v1/jobs/${id}` : '', {}, ['job'])
  const j = reading.value
  const gone = !j && (reading.refused?.status === 404 || !/^\d{1,19}$/.test(id))
  const known = sight.known
  return (
    <div class={'work' + (known ? '' : ' unsure')}>
      <p class="crumb"><a href={link('jobs')}>Jobs</a>{j ? <> · <a href={link('jobs', { queue: j.queue })}>queue <Name of={j.queue} /></a></> : null}</p>
      {gone ? <section class="panel"><h1>Job {plain(id)}</h1><p>{noDatabase(reading) ? nowhere.text : 'There is no such job. Those that have ended are deleted after a while.'}</p></section>
        : !j || !known ? <Sentence title="One job" sight={sight} said={null} database /> : null}
      {j ? (
        <>
          <section class={'panel one state-of ' + (known ? states[j.state].tone : 'unknown')}>
            <div class="line"><h1>Job {j.id}</h1><span class="right"><Mark known={known} {...states[j.state]} /></span></div>
            {j.why ? <p class={'obstacle' + (known && j.state === 'dead' ? ' bad' : '')}><b>{j.state === 'dead' ? 'It has failed as often as it may: ' : 'The last attempt: '}</b><Drawn text={j.why} /> <Copy text={j.why}>Copy</Copy></p> : null}
            {j.cancelling ? <p class="obstacle warn">! Its worker is told to stop it.</p> : null}
            {j.progress ? <p>How far it is: <Drawn text={j.progress} /></p> : null}
            <Facts all={[
              [kindOf(j.handler) === 'handler' ? 'Calls' : `Calls the ${kindOf(j.handler)}`, <Drawn text={calls(j.handler)} />],
              ['Queue', <><a href={link('jobs', { queue: j.queue })}><Name of={j.queue} /></a> <span class="faint">priority {j.priority}</span></>],
              [{ ready: 'Ready since', later: 'Begins', waiting: 'Was due', taken: 'At work since', dead: 'Died' }[j.state as string] ?? 'Ended', j.moment ? <><Instant at={j.moment} dated /> <span class="faint">({known ? away(j.moment) : 'then'})</span></> : '–'],
              ['Attempt', <>{j.attempt}<span class="faint">, {j.retries === 0 ? 'no retry' : `${count(j.retries, 'retry', 'retries')}`}, timeout {j.timeout}</span></>],
              ['Worker', j.worker ? <Drawn text={j.worker} /> : '–'],
              ['Made by', <>{j.cron ? <><a href={link('crons/c', { cron: j.cron })}>cron <Name of={j.cron} /></a>{j.at ? <> for <Instant at={j.at} dated /></> : null} </> : null}<span class="faint"><Name of={j.by} />, <Instant at={j.created_at} dated /></span></>],
              ...(j.lane ? [['Lane', <Drawn text={j.lane} />] as [string, preact.JSX.Element]] : []),
              ...(j.key ? [['Key', <Drawn text={j.key} />] as [string, preact.JSX.Element]] : []),
            ]} />
            <div class="buttons">
              <button type="button" disabled={!known || !['dead', 'later'].includes(j.state)} onClick={() => ask(retries(j))}>{j.state === 'later' ? 'Begin now…' : 'Try again…'}</button>
              <button type="button" disabled={!known || !cancellable.includes(j.state) || j.cancelling} onClick={() => ask(cancels(j))}>Cancel…</button>
            </div>
          </section>
          <div class="halves">
            <section class="panel" aria-label="Attempts">
              <h2>Attempts</h2>
              {(j.attempts ?? []).length === 0 ? <p class="faint">None has ended yet.</p> : (
                <ol class="times">{j.attempts!.toReversed().map((a) => {
                  const e = endOf(a.outcome)
                  return (
                    <li key={a.attempt}>
                      <span class="line"><span><b class={'mark-of ' + (known ? e.tone : '')} aria-hidden="true">{e.sign}</b> {a.attempt}: {e.word}</span><span class="right faint"><Instant at={a.began_at} dated />, {span(Date.parse(a.ended_at) - Date.parse(a.began_at))}</span></span>
                      {a.worker ? <span class="faint small">on <Drawn text={a.worker} /></span> : null}
                      {a.error ? <Lines text={a.error} /> : null}
                      {a.result !== undefined ? <Lines text={asJSON(a.result)} /> : null}
                    </li>
                  )
                })}</ol>
              )}
            </section>
            <section class="panel" aria-label="Arguments">
              <div class="line"><h2>Arguments</h2><Copy text={asJSON(j.args)}>Copy</Copy></div>
              <Lines text={asJSON(j.args)} />
            </section>
          </div>
        </>
      ) : null}
      <Asked draw={(deed, close) => <Question deed={{ ...deed, may: known }} close={close} />} />
    </div>
  )
}

const nothing = () => ({})

const cancels = (j: Job): Deed => ({
  title: `Cancel job ${j.id}`, verb: 'Cancel it', path: `v1/jobs/${j.id}/cancel`, body: nothing, may: true,
  says: j.state === 'taken'
    ? [<>Its worker{j.worker ? <>, <Drawn text={j.worker} />,</> : null} is told to stop attempt {j.attempt}, and does within a second or two. What it has done stays done.</>, 'It is not tried again, whatever becomes of the worker.', 'Its attempt names the one that asked.']
    : [<>No worker takes it: <Drawn text={calls(j.handler)} /> is not called.</>, 'It has ended then, and cannot be tried again.', 'Its last attempt names the one that asked.'],
  done: (got) => (got.cancelling ? 'Its worker is told.' : 'It has ended.'),
})

const retries = (j: Job): Deed => ({
  title: j.state === 'later' ? `Begin job ${j.id} now` : `Try job ${j.id} again`, verb: j.state === 'later' ? 'Begin it' : 'Try again', path: `v1/jobs/${j.id}/retry`, body: nothing, may: true,
  says: j.state === 'later'
    ? [<>A worker may take it now{j.moment ? <>, and not at <Instant at={j.moment} dated /></> : null}.</>, <>It calls <Drawn text={calls(j.handler)} />.</>]
    : [<>A worker may take it now, for attempt {j.attempt + 1}: it calls <Drawn text={calls(j.handler)} />.</>, `It has ${count(j.retries + 1, 'attempt')} again before it is dead.`, 'The operation names the one that asked.'],
  done: (got) => `It is ${states[got.state as JobState]?.word ?? 'asked for'}.`,
})

const releases = (q: Queues): Deed => ({
  title: 'Release the jobs', verb: 'Release them', path: 'v1/jobs:release', body: nothing, may: true,
  says: [
    <>The database was restored{q.restored_at ? <>, as was found at <Instant at={q.restored_at} dated /></> : null}: what its rows have as still to be done may have been done.</>,
    `Workers take jobs again, at once: ${count(q.queues.reduce((n, one) => n + one.ready, 0), 'job')} ${q.queues.reduce((n, one) => n + one.ready, 0) === 1 ? 'is' : 'are'} ready.`,
    'Cancel first what must not be done twice.',
  ],
  done: (got) => (got.released ? 'Workers take jobs again.' : 'They were released already.'),
})
