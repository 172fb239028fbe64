// Dead letters: jobs that have failed as often as they may. Many of them are tried again or discarded at once, by a filter: first how many,
// then a thousand at a time, with a way to stop.
import { signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { set, view } from '../address'
import { act, uuid } from '../api'
import { asking, Dialog, needsOperating, Unlock, whyRefused } from '../dialog'
import { good, tell, warn } from '../model'
import { count, Name, plain, zone } from '../text'
import { Older, Rows, useOlder } from './jobs'
import { Bar, type Said, Sentence } from './parts'
import { calls, type Job, noDatabase, nowhere, type Queues } from './work'
import { useDatabase } from './reading'

const first = 200 // of the dead jobs
const batch = 1000 // of those that are named

interface Operation { id: string; kind: 'retry' | 'discard'; queue?: string; jobs?: number[]; all?: boolean }

interface Answer { id: string; kind: string; done: number; ended_at: string | null }

/** Wish is what somebody is about to do with some of them. */
interface Wish { kind: 'retry' | 'discard'; which: { queue?: string; jobs?: number[]; all?: boolean }; many: number; words: ComponentChildren }

const { ask, Asked } = asking<Wish>()

interface Progress {
  kind: 'retry' | 'discard'
  total: number
  before: number // jobs of the operations that have ended
  done: number // in all
  left: Operation[]
  begun: boolean // the first that is left
  is: 'goes' | 'stops' | 'stopped' | 'ended' | 'failed'
  fault: string
}

/** course is how far what was begun here is. */
const course = signal<Progress | null>(null)

const note = (more: Partial<Progress>): Progress => (course.value = { ...course.value!, ...more })

const patience = 20_000

/** carry carries operations out, one after another, until they have ended or somebody stops it. */
async function carry(): Promise<void> {
  let c = note({ is: 'goes', fault: '' })
  while (c.left.length > 0) {
    const [one, ...rest] = c.left as [Operation, ...Operation[]]
    try {
      // The same request under the same id is no second operation. One that the node has answered for is resumed: it is refused if the
      // database was restored meanwhile.
      const got: Answer = c.begun ? await act(`v1/dead/operations/${one.id}/resume`, {}, patience) : await act('v1/dead/operations', one, patience)
      const done = c.before + got.done
      c = got.ended_at === null ? note({ done, begun: true }) : note({ done, before: done, left: rest, begun: false })
    } catch (e) {
      note({ is: 'failed', fault: whyRefused(e) })
      return
    }
    if (c.is === 'stops' && c.left.length > 0) {
      note({ is: 'stopped' })
      return
    }
  }
  note({ is: 'ended' })
}

function saidOf(dead: number, queues: number): Said {
  if (dead === 0) return tell(good, 'No job is dead', 'A job is dead when it has failed as often as it may.')
  return tell(warn, `${count(dead, 'job')} ${dead === 1 ? 'is' : 'are'} dead`, `${dead === 1 ? 'It has' : 'They have'} failed as often as ${dead === 1 ? 'it' : 'they'} may, in ${count(queues, 'queue')}. Nothing is done with ${dead === 1 ? 'it' : 'them'} until somebody says so.`)
}

const matches = (j: Job, text: string) => [String(j.id), calls(j.handler), j.cron ?? '', j.lane ?? '', j.key ?? '', j.why ?? '', j.queue].some((t) => t.toLowerCase().includes(text))

export function Page() {
  const queue = view.value.query.get('queue') ?? ''
  return <List key={queue} queue={queue} />
}

function List({ queue }: { queue: string }) {
  const q = view.value.query.get('q') ?? ''
  const queues = useDatabase<Queues>('v1/queues', {}, ['job'])
  const { reading, sight } = useDatabase<{ jobs: Job[] }>('v1/dead', { queue, limit: first }, ['job'])
  const older = useOlder('v1/dead', { queue })
  const chosen = useSignal<ReadonlySet<number>>(new Set())
  const known = sight.known && queues.sight.known
  const none = noDatabase(reading)
  const of = (queues.reading.value?.queues ?? []).filter((one) => one.dead > 0)
  const dead = of.reduce((n, one) => n + one.dead, 0)
  const here = queue ? of.find((one) => one.queue === queue)?.dead ?? 0 : dead
  const newest = reading.value?.jobs ?? []
  const all = [...newest, ...older.jobs.filter((j) => j.id < (newest[newest.length - 1]?.id ?? 0))]
  const some = q ? all.filter((j) => matches(j, q.toLowerCase())) : all
  const picked = some.filter((j) => chosen.value.has(j.id))
  const among = picked.length > 0 ? picked : q ? some : null // those that are named; null: all of the queue, or of all queues
  const many = among ? among.length : here
  const words: ComponentChildren = picked.length > 0 ? (picked.length === 1 ? 'that is chosen' : 'that are chosen') : q ? <>among the {all.length.toLocaleString('en')} that were read, with “{plain(q)}” in them</> : queue ? <>of the queue <Name of={queue} /></> : 'of all queues'
  const which = among ? { jobs: among.map((j) => j.id) } : queue ? { queue } : { all: true }
  const pick = (j: Job) => {
    const now = new Set(chosen.value)
    if (!now.delete(j.id)) now.add(j.id)
    chosen.value = now
  }
  const may = known && many > 0 && !['goes', 'stops'].includes(course.value?.is ?? '')
  return (
    <div class={'work' + (known ? '' : ' unsure')}>
      <Sentence title="Dead letters" sight={none ? { ...sight, known: true } : sight.known ? queues.sight : sight} said={none ? nowhere : reading.value && queues.reading.value ? saidOf(dead, of.length) : null} database />
      <Course />
      {none || !reading.value || (dead === 0 && all.length === 0) ? null : (
        <>
          <div class="tools">
            <select aria-label="Queue" value={queue} onChange={(e) => set({ queue: e.currentTarget.value })}>
              <option value="">every queue ({dead.toLocaleString('en')})</option>
              {of.map((one) => <option key={one.queue} value={one.queue}>{plain(one.queue)} ({one.dead.toLocaleString('en')})</option>)}
              {queue && !of.some((one) => one.queue === queue) ? <option value={queue}>{plain(queue)} (0)</option> : null}
            </select>
            <input type="search" id="filter" placeholder="Text in what was read" aria-label="Filter by text" value={q} onInput={(e) => set({ q: e.currentTarget.value })} />
            <button type="button" class="main" disabled={!may} onClick={() => ask({ kind: 'retry', which, many, words })}>Try {many.toLocaleString('en')} again…</button>
            <button type="button" disabled={!may} onClick={() => ask({ kind: 'discard', which, many, words })}>Discard {many.toLocaleString('en')}…</button>
            {picked.length > 0 ? <button type="button" class="quiet" onClick={() => (chosen.value = new Set())}>Choose none</button> : null}
          </div>
          <p class="faint small">{some.length.toLocaleString('en')} of {here.toLocaleString('en')} {q ? 'are like that, among those that were read' : 'are shown'}. Times of {zone}.</p>
          {some.length === 0 ? <p class="panel faint">None that was read is like that.</p> : (
            <Rows all={some} known={known} mark={(j) => <input type="checkbox" aria-label={`Choose job ${j.id}`} checked={chosen.value.has(j.id)} onChange={() => pick(j)} />} />
          )}
          {newest.length === first ? <Older of={older} before={all[all.length - 1]?.id} known={known} most={batch} /> : null}
        </>
      )}
      <Asked draw={(w, close) => <Wishing w={w} known={known} close={close} />} />
    </div>
  )
}

/** Wishing says how many it is, and what will become of them; then it begins. */
function Wishing({ w, known, close }: { w: Wish; known: boolean; close: () => void }) {
  const go = () => {
    const jobs = w.which.jobs
    const parts = jobs ? Array.from({ length: Math.ceil(jobs.length / batch) }, (_, i) => ({ jobs: jobs.slice(i * batch, (i + 1) * batch) })) : [w.which]
    close()
    course.value = { kind: w.kind, total: w.many, before: 0, done: 0, left: parts.map((part) => ({ id: uuid(), kind: w.kind, ...part })), begun: false, is: 'goes', fault: '' }
    void carry()
  }
  const jobs = w.many === 1 ? 'job' : 'jobs'
  const it = w.many === 1 ? 'it' : 'they'
  return (
    <Dialog close={close} title={`${w.kind === 'retry' ? 'Try again' : 'Discard'}: ${w.many.toLocaleString('en')} dead ${jobs}`}>{(shut) => <>
      <ul class="what">
        <li><b>{w.many.toLocaleString('en')}</b> {jobs} {w.words}{w.which.jobs ? '' : ', and those that die before it begins'}.</li>
        {w.kind === 'retry' ? <li>Workers may take {w.many === 1 ? 'it' : 'them'} at once, with all retries again. One that dies again stays dead.</li>
          : <li><b>{w.many === 1 ? 'It is' : 'They are'} never tried again, and that cannot be undone.</b> What {it} {w.many === 1 ? 'was' : 'were'} can be looked at until the rows of ended jobs are deleted.</li>}
        <li>It goes on a thousand at a time, and can be stopped every few seconds: what is left stays dead.</li>
        <li>The operation names the one that asked.</li>
      </ul>
      {needsOperating() ? <Unlock /> : (
        <div class="buttons">
          <button type="button" onClick={shut}>Leave it</button>
          <button type="button" class="main" disabled={!known} onClick={go}>{w.kind === 'retry' ? 'Try again' : 'Discard'}</button>
        </div>
      )}
    </>}</Dialog>
  )
}

/** Course shows how far it is, and stops it or goes on. */
function Course() {
  const c = course.value
  if (!c) return null
  const did = c.kind === 'retry' ? 'tried again' : 'discarded'
  const total = Math.max(c.total, c.done)
  const text = {
    goes: `${c.done.toLocaleString('en')} of ${total.toLocaleString('en')} are ${did}…`, stops: 'It stops after what is under way…',
    stopped: `Stopped: ${c.done.toLocaleString('en')} of ${total.toLocaleString('en')} are ${did}, the others are dead as before.`,
    ended: `${count(c.done, 'job')} ${c.done === 1 ? 'is' : 'are'} ${did}.`,
    failed: `It does not go on: ${c.fault}. ${c.done.toLocaleString('en')} are ${did} for sure; to go on does nothing twice.`,
  }[c.is]
  return (
    <section class={'panel course'} role="status" aria-label="How far it is">
      <p class={c.is === 'failed' ? 'warn' : c.is === 'ended' ? 'good' : ''}><span aria-hidden="true">{{ goes: '▸', stops: '▸', stopped: '‖', ended: '✓', failed: '!' }[c.is]}</span> {text}</p>
      {c.is === 'ended' ? null : <Bar part={total ? c.done / total : 0} tone={c.is === 'failed' ? 'warn' : 'good'} />}
      {c.is === 'failed' && needsOperating() ? <Unlock /> : (
        <p class="buttons">
          {c.is === 'goes' ? <button type="button" onClick={() => (course.value = { ...c, is: 'stops' })}>Stop</button> : null}
          {c.is === 'stopped' || c.is === 'failed' ? <button type="button" class="main" onClick={() => void carry()}>Go on</button> : null}
          {['stopped', 'failed', 'ended'].includes(c.is) ? <button type="button" onClick={() => (course.value = null)}>Close</button> : null}
        </p>
      )}
    </section>
  )
}
