// What a page of a service asks the node for, as long as it is looked at: again every two seconds, and soon after an event of the service.
import { computed, type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { read, type Refusal } from '../api'
import { needsToken, now, others, session } from '../store'

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
}

/** useReading reads a path as long as the component that calls it is drawn; an empty path reads nothing. */
export function useReading<T>(path: string, query: Record<string, string | number | undefined> = {}, kinds: string[] = [], pace = usual): ReadonlySignal<Reading<T>> {
  const none = { value: null, at: 0, refused: null, every: pace.every }
  const state = useSignal<Reading<T>>(none)
  useEffect(() => {
    state.value = none
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
        if (!over) state.value = { value, at: performance.now(), refused: null, every: pace.every }
      } catch (e) {
        failed = true
        if (!over) state.value = { ...state.value, refused: e as Refusal }
        if ((e as Refusal).status === 401) needsToken.value = true
      }
      busy = false
      if (!over) after(failed ? usual.every : again ? pace.least : pace.every)
    }
    const hasten = () => after(Math.max(usual.least, asked + pace.least - performance.now()))
    for (const kind of [...kinds, 'gap']) others.set(kind, (others.get(kind) ?? new Set()).add(hasten))
    document.addEventListener('visibilitychange', ask)
    void ask()
    return () => {
      over = true
      clearTimeout(timer)
      for (const kind of [...kinds, 'gap']) others.get(kind)?.delete(hasten)
      document.removeEventListener('visibilitychange', ask)
    }
  }, [path, JSON.stringify(query)])
  return state
}

/** Sight says whether what is shown is so now, and if not, since when and why. */
export interface Sight { known: boolean; asked: boolean; since: number; why: string }

/** useSight judges a reading. What the node has refused with a reason is an answer, and told as such by the page. */
export function useSight<T>(of: ReadonlySignal<Reading<T>>): Sight {
  const sight = useMemo(() => computed<Sight>(() => {
    const { value, at, refused, every } = of.value
    const node = session.value?.node ?? 'the node'
    if (!value && !refused) return { known: false, asked: true, since: 0, why: '' }
    const late = now.value - at > every + grace
    if (value && !refused && !late) return { known: true, asked: false, since: 0, why: '' }
    const why = refused && refused.status > 0 ? refused.message : `${node} has not answered`
    return { known: false, asked: false, since: at, why }
  }), [of])
  return sight.value
}
