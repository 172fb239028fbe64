// How many transactions were under way, as curves and as a table that says the same.
import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { set } from '../address'
import { serverNow } from '../store'
import { count, Instant, localTime, plain, zone } from '../text'
import { type Account, type Series, told } from './money'
import { useDatabase } from './reading'
import type { Curve } from './plot'

// Curves differ by their dashes too.
const kinds: { name: string; states: string[]; colour: string; dash: number[] }[] = [
  { name: 'queued', states: ['queued'], colour: 'hue2', dash: [2, 4] },
  { name: 'sent', states: ['future', 'ready', 'broadcast'], colour: 'hue0', dash: [] },
  { name: 'in a block', states: ['in_block'], colour: 'hue1', dash: [9, 4] },
  { name: 'block gone, or long not final', states: ['retracted', 'finality_timeout'], colour: 'warn-fill', dash: [12, 3, 2, 3] },
]

const spans = ['1h', '24h']

function curvesOf(s: Series): Curve[] {
  const of = new Map(s.series.map((line) => [line.state, line.values]))
  const steps = s.series[0]?.values.length ?? 0
  return kinds.map(({ name, states, colour, dash }) => ({
    name, colour, dash,
    values: Array.from({ length: steps }, (_, i) => states.reduce<number | null>((sum, state) => {
      const n = of.get(state)?.[i] ?? null
      return sum === null || n === null ? null : sum + n
    }, 0)),
  }))
}

export function Chart({ accounts, wide, account }: { accounts: Account[]; wide: string; account: string }) {
  // The node keeps a day, so that the question may stay the same while time goes on.
  const since = useMemo(() => (wide === '24h' ? new Date(serverNow() - 86_400_000).toISOString() : undefined), [wide])
  const { reading, sight } = useDatabase<Series>('v1/series', { name: 'pending_transactions', account, since }, told, { every: 15_000, least: 15_000, patience: 8000 })
  const s = reading.value
  const curves = s ? curvesOf(s) : []
  const drawn = (curves[0]?.values.length ?? 0) > 1
  return (
    <section class={'panel chart' + (sight.known ? '' : ' old')} aria-label="Under way over time">
      <div class="line title"><h2>Under way</h2>{sight.known || sight.asked ? null : <span class="warn small">! not known now: {sight.why}</span>}</div>
      <div class="tools">
        {spans.map((name) => <button type="button" class="chip" key={name} aria-pressed={(wide === '24h' ? wide : '1h') === name} onClick={() => set({ w: name === '1h' ? undefined : name })}>{name.replace('h', ' h')}</button>)}
        {accounts.length > 1 ? (
          <select aria-label="Account of the curves" value={account} onChange={(e) => set({ account: e.currentTarget.value })}>
            <option value="">all accounts</option>
            {accounts.map((a) => <option key={a.name} value={a.name}>{plain(a.name)}</option>)}
          </select>
        ) : null}
      </div>
      {!s ? <p class="faint">{reading.refused ? `It could not be read: ${reading.refused.message}` : 'Asking the node…'}</p>
        : !drawn ? <p class="faint">This node counts each 15 s since it was started: there is nothing to draw yet.</p>
        : <Curves s={s} curves={curves} />}
    </section>
  )
}

function Curves({ s, curves }: { s: Series; curves: Curve[] }) {
  const box = useRef<HTMLDivElement>(null)
  const at = useSignal<number | null>(null)
  const fault = useSignal('')
  const from = Date.parse(s.from)
  const steps = curves[0]!.values.length
  useEffect(() => {
    let remove = () => {}
    let over = false
    const again = async () => {
      try {
        const { draw } = await import('./plot')
        if (over || !box.current) return
        remove()
        remove = draw(box.current, Array.from({ length: steps }, (_, i) => (from + i * s.step_ms) / 1000), curves, (i) => (at.value = i))
      } catch {
        fault.value = 'The curves could not be loaded: the table says the same.'
      }
    }
    void again()
    addEventListener('resize', again) // a change of the theme too
    return () => {
      over = true
      removeEventListener('resize', again)
      remove()
    }
  }, [s])
  const i = at.value
  const when = i === null ? steps - 1 : i
  return (
    <>
      <div ref={box} class="plot" role="img" aria-label="Curves of how many transactions were under way. The table below says the same." />
      {fault.value ? <p class="warn" role="alert">! {fault.value}</p> : null}
      <p class="legend small">
        {curves.map((c) => <span key={c.name}><Dash curve={c} /> {c.name} <b>{c.values[when]?.toLocaleString('en') ?? '?'}</b></span>)}
        <span>{i === null ? 'as counted last' : `at ${localTime(from + i * s.step_ms)}`}, times of {zone}</span>
      </p>
      <details>
        <summary>As a table</summary>
        <div class="scrolls" tabIndex={0} role="region" aria-label="Under way, as a table">
          <table>
            <thead><tr><th>State</th><th class="number">Counted last</th><th class="number">Most</th><th>When</th></tr></thead>
            <tbody>{curves.map((c) => {
              const most = Math.max(0, ...c.values.map((n) => n ?? 0))
              const then = c.values.indexOf(most)
              return (
                <tr key={c.name}>
                  <td>{c.name}</td><td class="number">{c.values[steps - 1]?.toLocaleString('en') ?? '?'}</td><td class="number">{most.toLocaleString('en')}</td>
                  <td>{most > 0 ? <Instant at={new Date(from + then * s.step_ms).toISOString()} dated /> : '–'}</td>
                </tr>
              )
            })}</tbody>
          </table>
        </div>
        <p class="faint small">{count(steps, 'step')} of {s.step_ms / 1000} s, of each the most that was counted, since <Instant at={s.from} dated />. This node forgets them when it ends.</p>
      </details>
    </>
  )
}

/** Dash is a piece of a curve. */
function Dash({ curve }: { curve: Curve }) {
  return (
    <svg class="dash" viewBox="0 0 26 8" aria-hidden="true">
      <line x1="0" y1="4" x2="26" y2="4" class={curve.colour} stroke-dasharray={curve.dash.join(' ')} />
    </svg>
  )
}
