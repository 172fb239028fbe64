// What the node says of transactions and accounts, as its OpenAPI document has it, and in which words the pages show it.
import { bad, calm, good, tell, warn } from '../model'
import { count, plain } from '../text'
import { ago, type Said, type Word } from './parts'

/** told are the events of the stream after which all this is read again. */
export const told = ['transaction']

export interface Waiting { reason: string; intent?: string; since?: string; refusals?: number; until?: string }

export interface Block { number: number; hash: string }

export type Fate = 'queued' | 'open' | 'done' | 'cancelled' | 'rejected' | 'expired'

export type Outcome = 'succeeded' | 'reverted' | 'partly' | 'unknown' | 'cancelled' | 'rejected' | 'expired'

export interface Transaction {
  id: string
  version: number
  account: string
  chain: string
  address: string
  to: string
  value: string
  data: string
  gas?: number
  idempotency_key: string
  state: string | null
  fate: Fate
  outcome: Outcome | null
  effect: string | null // what it has done in its block
  revert?: { reason?: string; unknown?: string; replayed_at: number }
  why?: string
  cancelling?: boolean
  waiting_for: Waiting | null
  nonce: number | null
  hash: string | null
  block: Block | null
  witnesses: string[] | null
  creator: string
  created_at: string
  changed_at: string | null
  speed: string
  max_fee?: string
  valid_until?: string
  last_block?: number
}

export interface Attempt { hash: string; nonce: number; max_fee: string | null; max_tip: string | null; gas: number; filler: boolean; signed_at: string; in_block: boolean; error?: string }

export interface Receipt { status: 'succeeded' | 'reverted' | 'partly' | 'unknown'; gas_used: number; effective_gas_price: string; fee: string; contract_address: string | null; log_count: number; witnesses: string[] }

export interface Detailed extends Transaction { as_of: string; receipt: Receipt | null; receipt_unknown?: string; attempts: Attempt[] }

export interface Listed { as_of: string; transactions: Transaction[]; next: string | null }

export interface AccountAlarm { cause: string; means: string; remedy: string; since: string; nonce?: number; intent?: string; error?: string }

export interface Account {
  name: string
  chain: string
  address: string
  scope: string
  leads: boolean
  balance: string | null
  nonce: number | null
  next_nonce: number | null
  block: Block | null
  by?: string
  unknown?: string
  queued: number
  in_flight: number
  in_block: number
  gaps: number
  oldest_at: string | null
  waiting_for: Waiting | null
  alarms: AccountAlarm[] | null
}

export interface Accounts { as_of: string; accounts: Account[] }

export interface Series { as_of: string; from: string; step_ms: number; series: { state: string; values: (number | null)[] }[] }

/** Policy is what a token may have sent, and what is left of it. */
export interface Policy { token: string; chain: string; may: string[]; limits: { name: string; most: string; spent: string; left: string }[] }

/** News is an event of a transaction on the stream. */
export interface News { id: string; version: number; fate: Fate; outcome: Outcome | null; nonce: number | null; hash: string | null; block: Block | null; why?: string }

export const ends: Record<Outcome, Word> = {
  succeeded: good('done'),
  partly: bad('done in part', '!'),
  unknown: warn('final, effect not known', '?'),
  reverted: bad('without effect'),
  cancelled: calm('cancelled', '–'),
  rejected: bad('rejected'),
  expired: warn('expired', '–'),
}

const usual = ['a nonce', 'a block', 'finality']

/** isHeldUp tells whether something is in the way, besides the usual steps. */
export const isHeldUp = (w: Waiting | null) => w !== null && !usual.includes(w.reason)

/** stateOf is how a transaction stands. */
export function stateOf(t: Transaction): Word {
  if (t.outcome) return ends[t.outcome]
  if (t.cancelling) return warn('cancelling', '–')
  if (t.state === 'retracted') return warn('block is gone')
  if (t.state === 'finality_timeout') return warn('long not final')
  if (t.block) return calm('in a block', '▣')
  if (isHeldUp(t.waiting_for)) return warn('held up')
  return t.nonce === null ? calm('queued', '◷') : calm('sent', '▸')
}

/** storyOf is the same in a sentence. */
export function storyOf(t: Transaction): string {
  if (t.outcome === 'succeeded' && t.block) return `final in block ${t.block.number.toLocaleString('en')}`
  if (t.outcome === 'reverted') return `in block ${t.block?.number.toLocaleString('en') ?? '?'}, its call failed${t.revert?.reason ? `: ${t.revert.reason}` : ''}`
  if (t.outcome === 'partly') return `in block ${t.block?.number.toLocaleString('en') ?? '?'}, a part of it was done${t.effect?.startsWith('partly: ') ? `: ${t.effect.slice(8)} failed` : ''}`
  if (t.outcome === 'unknown') return `in block ${t.block?.number.toLocaleString('en') ?? '?'}: nobody can say any more what it has done`
  if (t.outcome) return t.why ?? (t.nonce === null ? 'it never had a nonce' : `nonce ${t.nonce} was used by one that does nothing`)
  return t.waiting_for ? `${isHeldUp(t.waiting_for) ? 'held up:' : 'waits for'} ${t.waiting_for.reason}` : ''
}

/** amount writes an amount of a chain's smallest unit so that people can read it. The exact one belongs into a title. */
export function amount(wei: string | null | undefined): string {
  if (!wei) return '?'
  if (wei.length <= 7) return Number(wei).toLocaleString('en') + ' wei'
  const [unit, digits] = wei.length <= 15 ? ['gwei', 9] : ['·10¹⁸ wei', 18]
  const whole = wei.slice(0, -digits) || '0'
  const part = wei.slice(-digits).padStart(digits, '0').slice(0, 4).replace(/0+$/, '')
  return grouped(whole) + (part ? '.' + part : '') + (unit[0] === '·' ? unit : ' ' + unit)
}

export const exact = (wei: string | null | undefined) => (wei ? grouped(wei) + ' wei' : '')

/** grouped writes the digits of a number that may be larger than those of JavaScript. */
export const grouped = (digits: string) => digits.replace(/\B(?=(\d{3})+$)/g, ',')

/** verdictOf says how all accounts stand. */
export function verdictOf(all: Account[], age: (iso: string) => number): Said {
  if (all.length === 0) return tell(calm, 'This node has no account', 'conch account new makes a key; [[chains]] and [[accounts]] in conch.toml name the chain and the account.')
  const alarmed = all.filter((a) => a.alarms?.length)
  const held = all.filter((a) => a.waiting_for)
  const away = all.filter((a) => a.unknown)
  const gaps = all.reduce((n, a) => n + a.gaps, 0)
  const queued = all.reduce((n, a) => n + a.queued, 0)
  const sent = all.reduce((n, a) => n + a.in_flight + a.in_block, 0)
  const oldest = all.map((a) => a.oldest_at).filter((at) => at !== null).sort()[0]
  const more = [
    `${count(queued, 'transaction')} queued, ${sent.toLocaleString('en')} sent and not final`,
    oldest ? `the oldest that is in no block was accepted ${ago(age(oldest))}` : '', gaps ? `${count(gaps, 'nonce')} being filled` : '',
    away.length ? `the chain of ${count(away.length, 'account')} does not answer` : '',
  ].filter(Boolean).join('; ') + '.'
  const of = all.length === 1 ? 'The one account' : `${alarmed.length || held.length} of ${all.length} accounts`
  if (alarmed.length) return tell(bad, `${of} ${alarmed.length === 1 ? 'needs' : 'need'} somebody: ${[...new Set(alarmed.flatMap((a) => a.alarms!.map((x) => plain(x.cause))))].join(', ')}`, more)
  if (held.length) return tell(warn, `${of} ${held.length === 1 ? 'is' : 'are'} held up`, more)
  if (away.length) return tell(warn, `Nothing is known to be in the way, and a chain does not answer`, more)
  return tell(good, all.every((a) => a.alarms) ? 'Nothing is in the way of any transaction' : 'Nothing is in the way, as far as this node knows', more)
}
