// What the pages of crons, jobs and dead letters have in common: what the node says of them, and in which words that is shown.
import { link } from '../address'
import { bad, calm, good, tell, warn } from '../model'
import { now, serverNow } from '../store'
import { Drawn, span } from '../text'
import type { Said, Word } from './parts'
import type { Reading } from './reading'

export interface Handler { command?: string[]; http?: string; job?: string }

export type Ended = 'done' | 'failed' | 'dead' | 'lost' | 'released' | 'later' | 'cancelled'

export interface Past { at: string; outcome: 'enqueued' | 'skipped' | 'existing'; job: number; by_hand: boolean; decided_at: string; ended?: Ended }

export interface Gap { from: string; to: string; count: number; why: string }

export interface Cron {
  name: string
  schedule: string
  timezone: string
  handler: Handler
  args: unknown
  catch_up: string
  limit: number
  late: string
  overlap: string
  waits: number
  jitter: string
  timeout: string
  retries: number
  queue: string
  priority: number
  paused: boolean
  filed: boolean
  adopted: boolean
  since: string
  by: string
  settled_at: string | null
  due_at?: string
  last: Past | null
  next: string[]
  fault?: string
  past?: Past[]
  gaps?: Gap[]
}

export type JobState = 'ready' | 'later' | 'waiting' | 'taken' | 'dead' | 'done' | 'cancelled' | 'discarded'

export interface Job {
  id: number
  state: JobState
  attempt: number
  queue: string
  handler: Handler
  args?: unknown
  priority: number
  retries: number
  timeout: string
  lane?: string
  key?: string
  cron?: string
  at?: string
  moment: string | null
  worker?: string
  created_at: string
  by: string
  why?: string
  cancelling?: boolean
  progress?: string
  attempts?: { attempt: number; outcome: Ended; worker?: string; began_at: string; ended_at: string; error?: string; result?: unknown }[]
}

export interface Queue { queue: string; ready: number; later: number; waiting: number; taken: number; dead: number; oldest_ready_ms: number }

export interface Queues { as_of: string; held: boolean; restored_at: string | null; queues: Queue[] }

/** noDatabase is what a node says that has none. */
export const noDatabase = (r: Reading<unknown>) => r.refused?.type.endsWith(':no-database') ?? false

export const nowhere: Said = tell(calm, 'This node uses no database', 'Crons and jobs are rows of a database: a node whose configuration has [database] url shows them.')

export const states: Record<JobState, Word> = {
  dead: bad('dead'),
  taken: good('at work', '▸'),
  ready: calm('ready'),
  waiting: calm('waits for its lane', '◷'),
  later: calm('later', '◷'),
  done: good('done'),
  cancelled: calm('cancelled', '–'),
  discarded: calm('discarded', '–'),
}

export const open: JobState[] = ['ready', 'taken', 'later', 'waiting', 'dead']

const ends: Record<Ended, Word> = {
  done: good('done'),
  failed: warn('failed, and is tried again'),
  dead: bad('failed for good'),
  lost: warn('lost with its worker, and is tried again'),
  released: calm('given back by its worker', '◷'),
  later: calm('put off', '◷'),
  cancelled: calm('cancelled', '–'),
}

/** endOf is how an attempt has ended; none: its job has not begun, or is at work. */
export const endOf = (ended: Ended | undefined): Word => (ended ? ends[ended] : calm('no attempt has ended yet', '▸'))

/** runOf is what became of a scheduled time. */
export const runOf = (p: Past): Word => (p.outcome === 'skipped' ? warn(`skipped, since job ${p.job} had not ended`, '∅') : endOf(p.ended))

/** calls says what a job calls, in one line. */
export const calls = (h: Handler) => h.job ?? (h.command ? h.command.map((w) => (/^[\w@%+=:,./-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`)).join(' ') : h.http ?? '')

export const kindOf = (h: Handler) => (h.command ? 'command' : h.http ? 'HTTP' : 'handler')

// Seconds would tick.
const minutes = (ms: number) => (ms < 90_000 ? '1\u00a0min' : span(Math.max(ms, 100_000)))

/** away says how far an instant is, in words that do not tick. */
export function away(iso: string): string {
  void now.value
  const ms = Date.parse(iso) - serverNow()
  if (Math.abs(ms) < 60_000) return ms > 0 ? 'within a minute' : 'just now'
  return ms > 0 ? `in ${minutes(ms)}` : `${minutes(-ms)} ago`
}

/** coarse says for how long, without digits that tick while nothing happens. */
export const coarse = (ms: number) => (ms < 5000 ? 'moments' : ms < 60_000 ? 'less than a minute' : minutes(ms))

/** asJSON writes a value over several lines. */
export const asJSON = (value: unknown) => JSON.stringify(value, null, 2) ?? ''

export const jobLink = (id: number) => link('jobs/j', { id: String(id) })

/** Lines is a text over several lines, each with what is hidden in it spelled. */
export const Lines = ({ text }: { text: string }) => <pre class="json">{text.split('\n').map((line, i) => <span key={i}>{i ? '\n' : ''}<Drawn text={line} /></span>)}</pre>
