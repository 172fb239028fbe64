// Small things that several pages draw.
import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { link } from './address'
import { ageOf, hueOf, live, now, serverNow } from './store'
import { type Event, type Row, said, signs, type Tone, type Word } from './model'
import { Drawn, Instant, Name, span } from './text'

/** Holder is a name with a dot in its colour: filled if it leads. */
export function Holder({ of, leads = true, most = 24 }: { of: string; leads?: boolean; most?: number }) {
  return <span class={'holder hue' + hueOf(of)}><i class={leads ? 'dot full' : 'dot'} aria-hidden="true" /><Name of={of} most={most} /></span>
}

/** Banner is the first line of a page, in words. */
export const Banner = ({ tone, sign, text, children }: { tone: Tone; sign: string; text: ComponentChildren; children?: ComponentChildren }) => (
  <section class={'verdict ' + tone} role="status"><span class="sign" aria-hidden="true">{sign}</span><div><h1>{text}</h1>{children ? <p>{children}</p> : null}</div></section>
)

/** Mark is how something stands; unknown while nothing is known. */
export function Mark({ known, tone, sign, word }: { known: boolean } & Word) {
  if (!known) return <span class="state unknown"><span aria-hidden="true">?</span> not known now</span>
  return <span class={'state ' + tone}><span aria-hidden="true">{sign}</span> {word}</span>
}

/** StateOf is the state of a scope. */
export function StateOf({ row }: { row: Row }) {
  const word = row.state === 'nobody' && row.epoch === 0 ? 'never led' : signs[row.state].word
  return <Mark known={live.value} {...signs[row.state]} word={word} />
}

/** Lease is what is left of the holder's lease: full until two heartbeats are missed, empty for nobody. */
export function Lease({ row }: { row: Row }) {
  const known = live.value && row.state !== 'nobody' && row.state !== 'released' && row.lease_ms > 0
  const age = known ? ageOf(row) : 0
  const late = known && age > (row.lease_ms / 5) * 2.5
  const left = !known ? 0 : late ? Math.max(0, 1 - age / row.lease_ms) : 1
  const text = !live.value ? '' : !known ? '' : late ? `late: ${span(Math.round(age / 500) * 500)}` : 'beats in time'
  return (
    <span class={'lease' + (late ? ' late' : '')}>
      <i class="track" aria-hidden="true"><i ref={(at: HTMLElement | null) => at?.style.setProperty('width', `${left * 100}%`)} /></i>
      <span class="small">{text}</span>
    </span>
  )
}

/** Obstacle shows what is in the way; what looks like a statement to run can be copied. */
export function Obstacle({ row }: { row: Row }) {
  const why = row.state === 'nobody' ? row.obstacle : row.state === 'fails' ? row.last_failure : row.obstacle
  const times = row.state === 'fails' && row.failures ? `Its role failed ${row.failures === 1 ? 'once' : row.failures + ' times'} in ten minutes: ` : ''
  if (row.state === 'holding' && !why) return <p class="obstacle">It waits until no predecessor can act.</p>
  if (!why && !times) return null
  return <p class={'obstacle ' + signs[row.state].tone}>{row.state === 'nobody' ? <b>In the way: </b> : null}{times}<Drawn text={why ?? ''} /></p>
}

/** EventLine is an event of the history in one or two lines. */
export function EventLine({ e, scoped = true }: { e: Event; scoped?: boolean }) {
  const holder = e.holder ? <Holder of={e.holder} leads={e.event === 'acquired'} /> : null
  return (
    <>
      <span class="line">
        {scoped ? <a class="strong" href={link('leaders/s', { scope: e.scope })}><Name of={e.scope} /></a> : holder}
        <span class="faint right"><Instant at={e.at} dated={serverNow() - Date.parse(e.at) > 43_200_000} /></span>
      </span>
      <span class="line faint"><span>{scoped && holder ? <>{holder} </> : null}<EventWords e={e} /></span></span>
    </>
  )
}

export function EventWords({ e }: { e: Event }) {
  if (e.event !== 'acquired') return <><Drawn text={said(e)} />{e.epoch ? `, epoch ${e.epoch}` : ''}</>
  const how = { first: 'for the first time', takeover: 'by takeover', handoff: 'by handover' }[e.reason] ?? e.reason
  return <>leads at epoch {e.epoch}, <Drawn text={how} />{e.gap_ms !== undefined ? <> after <b>{span(e.gap_ms)}</b></> : null}</>
}

/** Copy puts an exact text on the clipboard, or selects it where that is not allowed. */
export function Copy({ text, children }: { text: string; children: ComponentChildren }) {
  const done = useSignal(false)
  const copy = () => navigator.clipboard?.writeText(text).then(() => {
    done.value = true
    setTimeout(() => (done.value = false), 2000)
  }, () => {})
  if (!navigator.clipboard) return null
  return <button type="button" class="quiet" onClick={copy}>{done.value ? '✓ copied' : children}</button>
}

/** Virtual draws only the rows of a long list that are in view. All have one height, which the style sheet knows. */
export function Virtual<T>({ items, height, draw, label, keyOf }: {
  items: T[]; height: number; draw: (item: T, at: number) => JSX.Element; label: string; keyOf: (item: T) => string | number
}) {
  const box = useRef<HTMLDivElement>(null)
  const seen = useSignal({ from: 0, to: Math.ceil(innerHeight / height) })
  const look = () => {
    const at = box.current?.getBoundingClientRect()
    if (!at) return
    const from = Math.max(0, Math.floor(-at.top / height) - 8)
    const to = Math.ceil((innerHeight - at.top) / height) + 8
    if (from !== seen.value.from || to !== seen.value.to) seen.value = { from, to }
  }
  useEffect(() => {
    addEventListener('scroll', look, { passive: true })
    addEventListener('resize', look)
    return () => {
      removeEventListener('scroll', look)
      removeEventListener('resize', look)
    }
  }, [height])
  useLayoutEffect(look)
  const { from, to } = seen.value
  return (
    <div ref={(at) => {
      box.current = at
      at?.style.setProperty('height', `${items.length * height}px`)
    }} class="virtual" role="list" aria-label={label}>
      {items.slice(from, to).map((item, i) => (
        <div key={keyOf(item)} class="row" role="listitem" aria-setsize={items.length} aria-posinset={from + i + 1}
          ref={(at) => at?.style.setProperty('transform', `translateY(${(from + i) * height}px)`)}>
          {draw(item, from + i)}
        </div>
      ))}
    </div>
  )
}

/** useNarrow tells whether the page is as wide as a phone. */
export function useNarrow(below = 900): boolean {
  const narrow = useSignal(innerWidth < below)
  useEffect(() => {
    const look = () => (narrow.value = innerWidth < below)
    addEventListener('resize', look)
    return () => removeEventListener('resize', look)
  }, [])
  return narrow.value
}

/** since says how long ago something was by performance.now(). */
export const since = (at: number) => span(Math.max(1000, Math.round((now.value - at) / 1000) * 1000))
