// What a page of a service asks the node for, as long as it is looked at: again every two seconds, and soon after an event of the service.
import { computed, type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { read, type Refusal } from '../api'
import { how, listen, live, needsToken, now, session } from '../store'

const grace = 3000 // nothing that should have been read again longer ago is shown as if it were so now

/** Pace is how often something is read, how soon again if there are events, and how long an answer is waited for. */
export interface Pace { every: number; least: number; patience: number }

const usual: Pace = { every: 2000, least: 250, patience: 2500 }

/** Reading is an answer of the node, and how well it is known to be true still. */
export interface Reading<T> {
  value: T | null // the last answer
  at: number // performance.now() of it
  refused: Refusal | null // what the node has said instead, or that it did not answer
  every: number
  asking: boolean // nothing was answered since the page was opened
}

/** kept are the last answers, so that a page that is opened again has what it had, and says so if that is old. */
const kept = new Map<string, { value: unknown; at: number }>()
const mostKept = 50

/** useReading reads a path as long as the component that calls it is drawn; an empty path reads nothing. */
export function useReading<T>(path: string, query: Record<string, string | number | undefined> = {}, kinds: string[] = [], pace = usual): ReadonlySignal<Reading<T>> {
  const key = path + JSON.stringify(query)
  const had = () => ({ value: (kept.get(key)?.value ?? null) as T | null, at: kept.get(key)?.at ?? 0, refused: null, every: pace.every, asking: true })
  const state = useSignal<Reading<T>>(had())
  useEffect(() => {
    state.value = had()
    if (!path) return
    let over = false
    let busy = false
    let again = false
    let timer = 0
    let due = Infinity // events without end put nothing off
    let asked = 0
    const after = (ms: number) => {
      if (performance.now() + ms >= due) return
      due = performance.now() + ms
      clearTimeout(timer)
      timer = window.setTimeout(ask, ms)
    }
    const ask = async () => {
      clearTimeout(timer)
      due = Infinity
      again = busy
      if (busy || document.hidden) return
      busy = true
      asked = performance.now()
      let failed = false
      try {
        const value = await read<T>(path, query, pace.patience)
        kept.delete(key)
        kept.set(key, { value, at: performance.now() })
        if (kept.size > mostKept) kept.delete(kept.keys().next().value!)
        if (!over) state.value = { value, at: performance.now(), refused: null, every: pace.every, asking: false }
      } catch (e) {
        failed = true
        if (!over) state.value = { ...state.value, refused: e as Refusal, asking: false }
        if ((e as Refusal).status === 401) needsToken.value = true
      }
      busy = false
      if (!over) after(failed ? usual.every : again ? pace.least : pace.every)
    }
    const hasten = () => after(Math.max(usual.least, asked + pace.least - performance.now()))
    const deaf = listen([...kinds, 'gap'], hasten)
    document.addEventListener('visibilitychange', ask)
    void ask()
    return () => {
      over = true
      clearTimeout(timer)
      deaf()
      document.removeEventListener('visibilitychange', ask)
    }
  }, [key])
  return state
}

/** Sight says whether what is shown is so now, and if not, since when and why. */
export interface Sight { known: boolean; asked: boolean; since: number; why: string }

/** useSight judges a reading. What the node has refused with a reason is an answer, and told as such by the page. */
export function useSight<T>(of: ReadonlySignal<Reading<T>>): Sight {
  const sight = useMemo(() => computed<Sight>(() => {
    const { value, at, refused, every, asking } = of.value
    const node = session.value?.node ?? 'the node'
    if (!value && !refused) return { known: false, asked: true, since: 0, why: '' }
    const late = now.value - at > every + grace
    if (value && !refused && !late) return { known: true, asked: false, since: 0, why: '' }
    if (asking) return { known: false, asked: true, since: at, why: '' }
    const why = refused && refused.status > 0 ? refused.message : `${node} has not answered`
    return { known: false, asked: false, since: at, why }
  }), [of])
  return sight.value
}

/** ofDatabase is how well something is known for which the node needs its database: not at all while that is away, whatever was read before. */
export function ofDatabase(sight: Sight, had: boolean): Sight {
  if (live.value || how.value.is === 'connecting' || (sight.asked && !had)) return sight
  return { known: false, asked: false, since: had ? how.value.since : 0, why: how.value.why }
}

// The database answers these, so they are read more seldom than what a node has in memory; an event brings the next one forward.
const seldom: Pace = { every: 3000, least: 1000, patience: 4000 }

/** useDatabase reads what the database has. */
export function useDatabase<T>(path: string, query: Record<string, string | number | undefined> = {}, kinds: string[] = [], pace = seldom): { reading: Reading<T>; sight: Sight } {
  const of = useReading<T>(path, query, kinds, pace)
  return { reading: of.value, sight: ofDatabase(useSight(of), of.value.value !== null) }
}
