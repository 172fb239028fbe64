// The last hour of a scope as a strip of bars, by holder.
import { computed } from '@preact/signals'
import { byScope, gradeOf, type Row, termsOf } from './model'
import { events, hueOf, now, serverNow } from './store'

export const eventsOf = computed(() => byScope(events.value))

const hour = 3_600_000
// The strip moves on once a minute, and with each event.
const minute = computed(() => {
  void now.value
  void events.value
  return Math.floor(serverNow() / 60_000) * 60_000 + 60_000
})

export function Strip({ row }: { row: Row }) {
  const to = minute.value
  const from = to - hour
  const terms = termsOf(eventsOf.value.get(row.scope) ?? [], row, from, to, Math.min(to, serverNow()))
  const x = (t: number) => ((t - from) / hour) * 1000
  const gaps = terms.filter((t) => t.holder === '')
  return (
    <svg class="strip" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img"
      aria-label={`the last hour: ${terms.length - gaps.length} ${terms.length - gaps.length === 1 ? 'term' : 'terms'}, ${gaps.length} times without a leader`}>
      {terms.map((t) => {
        const grade = t.holder ? '' : gradeOf(t.to - t.from, row.lease_ms)
        const width = Math.max(x(t.to) - x(t.from) - (t.holder ? 1.5 : 0), t.holder ? 1 : grade === 'tick' ? 2 : 4)
        return <rect x={x(t.from)} width={width} y={t.holder ? 1 : 0} height={t.holder ? 8 : 10} class={t.holder ? 'hue' + hueOf(t.holder) : 'gap ' + grade} />
      })}
    </svg>
  )
}
