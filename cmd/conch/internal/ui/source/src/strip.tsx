// The last hour of a scope as a strip of bars, by holder; less of a cluster that is younger.
import { computed } from '@preact/signals'
import { byScope, gradeOf, type Row, termsOf } from './model'
import { events, hueOf, now, serverNow } from './store'
import { count } from './text'

export const eventsOf = computed(() => byScope(events.value))

const minute = 60_000

/** stripTime is what strips show: so many minutes, in words too. */
export const stripTime = computed(() => {
  void now.value
  const since = serverNow() - Date.parse(events.value[0]?.at ?? '')
  const many = since <= minute ? 1 : since <= 5 * minute ? 5 : since <= 15 * minute ? 15 : 60
  return { ms: many * minute, words: many === 1 ? 'The last minute' : many === 60 ? 'The last hour' : `The last ${many} minutes` }
})

// A strip moves on once a minute, a young one in twelve steps, and with each event.
const end = computed(() => {
  void now.value
  void events.value
  const step = Math.min(stripTime.value.ms / 12, minute)
  return Math.floor(serverNow() / step) * step + step
})

export function Strip({ row }: { row: Row }) {
  const to = end.value
  const { ms: wide, words } = stripTime.value
  const from = to - wide
  const terms = termsOf(eventsOf.value.get(row.scope) ?? [], row, from, to, Math.min(to, serverNow()))
  const x = (t: number) => ((t - from) / wide) * 1000
  const gaps = terms.filter((t) => t.holder === '')
  return (
    <svg class="strip" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img"
      aria-label={`${words}: ${count(terms.length - gaps.length, 'term')}, ${count(gaps.length, 'time')} without a leader`}>
      {terms.map((t) => {
        const grade = t.holder ? '' : gradeOf(t.to - t.from, row.lease_ms)
        const width = Math.max(x(t.to) - x(t.from) - (t.holder ? 1.5 : 0), t.holder ? 1 : grade === 'tick' ? 2 : 4)
        return <rect x={x(t.from)} width={width} y={t.holder ? 1 : 0} height={t.holder ? 8 : 10} class={t.holder ? 'hue' + hueOf(t.holder) : 'gap ' + grade} />
      })}
    </svg>
  )
}
