// The committee of a contract as it is ranked: who coordinates now, who takes its place, who comes next, and how far the range is.
import { plain } from '../text'

const size = 240
const middle = size / 2
const radius = 88
const dot = 15

/** Ring has a place for each member of the committee, from the coordinator on clockwise; the arc within is how far this range is. */
export function Ring({ order, next, part, known, hueOf }: { order: string[]; next: string; part: number; known: boolean; hueOf: (name: string) => number }) {
  const place = (i: number) => {
    const turn = (i / order.length) * 2 * Math.PI - Math.PI / 2
    return { x: middle + radius * Math.cos(turn), y: middle + radius * Math.sin(turn) }
  }
  const around = 2 * Math.PI * (radius - 30)
  const label = order.length === 0 ? 'no committee is known' : `${plain(order[0]!)} coordinates, then ${plain(next)}; ${Math.round(part * 100)} percent of the range are done`
  const small = order.length > 16
  return (
    <svg class={'ring' + (known ? '' : ' unknown')} viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <circle class="track" cx={middle} cy={middle} r={radius} />
      <circle class="done" cx={middle} cy={middle} r={radius - 30} transform={`rotate(-90 ${middle} ${middle})`} stroke-dasharray={`${around * part} ${around}`} />
      {order.map((name, i) => {
        const at = place(i)
        return (
          <g key={name} class={'hue' + hueOf(name)}>
            <circle class={'seat' + (i === 0 ? ' first' : '')} cx={at.x} cy={at.y} r={small ? 6 : i === 0 ? dot + 4 : dot} />
            {name === next ? <circle class="next" cx={at.x} cy={at.y} r={(small ? 6 : i === 0 ? dot + 4 : dot) + 4} /> : null}
            {small ? null : <text class={i === 0 ? 'first' : ''} x={at.x} y={at.y} dy="0.35em">{i + 1}</text>}
          </g>
        )
      })}
      <text class="middle" x={middle} y={middle} dy="-0.1em">{order.length === 0 ? '–' : `${Math.round(part * 100)} %`}</text>
      <text class="under" x={middle} y={middle} dy="1.3em">of this range</text>
    </svg>
  )
}
