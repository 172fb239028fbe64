// The canvas of the timeline: a lane for each scope, bars by holder, times without a leader in three grades. It draws what is in view, and keeps nothing.
import { gradeOf, type Term } from './model'
import { middle, plain } from './text'

export interface Lane { scope: string; lease: number; terms: Term[] }

const axis = 26

/** shapeOf is how high a lane is, and where its bar lies; on a phone its name stands above the bar. */
const shapeOf = (named: boolean) => (named ? { lane: 46, top: 22, height: 18 } : { lane: 28, top: 5, height: 18 })

export interface Look {
  from: number
  to: number
  selected: { scope: string; from: number } | null
  hueOf: (holder: string) => number
  named: boolean // the canvas has the names of the lanes
}

interface Palette { hues: string[]; tick: string; short: string; long: string; line: string; text: string; faint: string; onBar: string; chosen: string }

let known: { theme: string; palette: Palette } | null = null

/** paletteOf reads the colours that the style sheet has now, light or dark: as the colour of an element, since a variable is not resolved. */
function paletteOf(at: HTMLElement): Palette {
  const theme = document.documentElement.className + matchMedia('(prefers-color-scheme: dark)').matches
  if (known?.theme !== theme) known = { theme, palette: read(at) }
  return known.palette
}

function read(at: HTMLElement): Palette {
  const c = (name: string) => {
    at.style.setProperty('color', `var(--${name})`)
    return getComputedStyle(at).color
  }
  return {
    hues: [0, 1, 2, 3, 4].map((n) => c('hue' + n)), tick: c('tick'), short: c('warn-fill'), long: c('bad-fill'), line: c('line'), text: c('text'), faint: c('faint'),
    onBar: c('on-hue'), chosen: c('text'),
  }
}

export const heightOf = (lanes: number, named: boolean) => lanes * shapeOf(named).lane + axis

/** firstAfter finds the first term that ends at or after an instant: a lane has thousands, and few are in view. */
function firstAfter(terms: Term[], at: number): number {
  let [low, high] = [0, terms.length]
  while (low < high) {
    const mid = (low + high) >> 1
    if (terms[mid]!.to < at) low = mid + 1
    else high = mid
  }
  return low
}

/** least is the least width of a time without a leader, in pixels, so that none is missed. */
const least = { tick: 2, short: 3, long: 5 }

export function draw(canvas: HTMLCanvasElement, lanes: Lane[], look: Look): void {
  const ratio = devicePixelRatio || 1
  const width = canvas.clientWidth
  const height = heightOf(lanes.length, look.named)
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
  }
  const g = canvas.getContext('2d')
  if (!g) return
  const colours = paletteOf(canvas)
  g.setTransform(ratio, 0, 0, ratio, 0, 0)
  g.clearRect(0, 0, width, height)
  g.font = `12px ${getComputedStyle(canvas).fontFamily}`
  g.textBaseline = 'middle'
  drawAxis(g, look, width, height, colours)
  const x = (t: number) => ((t - look.from) / (look.to - look.from)) * width
  const { lane: high } = shapeOf(look.named)
  lanes.forEach((lane, n) => {
    if (look.named) label(g, lane.scope, 0, n * high + 12, width, colours.text)
    drawLane(g, lane, n * high, x, width, look, colours)
  })
}

function drawLane(g: CanvasRenderingContext2D, lane: Lane, top: number, x: (t: number) => number, width: number, look: Look, c: Palette): void {
  const bar = shapeOf(look.named)
  const gaps: Term[] = []
  for (let i = firstAfter(lane.terms, look.from); i < lane.terms.length; i++) {
    const t = lane.terms[i]!
    if (t.from > look.to) break
    if (t.holder === '') {
      gaps.push(t)
      continue
    }
    const [a, b] = [Math.max(0, x(t.from)), Math.min(width, x(t.to))]
    g.fillStyle = c.hues[look.hueOf(t.holder)]!
    g.fillRect(a, top + bar.top, Math.max(0.5, b - a - 1), bar.height)
    if (b - a > 46) label(g, `${t.holder} · ${t.epoch}`, a + 6, top + bar.top + bar.height / 2 + 1, b - a - 12, c.onBar)
    if (look.selected?.scope === lane.scope && look.selected.from === t.from) outline(g, a, top + bar.top, b - a, c)
  }
  for (const t of gaps) {
    const grade = gradeOf(t.to - t.from, lane.lease)
    const wide = Math.max(least[grade], x(t.to) - x(t.from))
    const a = x(t.from)
    const tall = { tick: -5, short: 1, long: 4 }[grade] // the worse, the taller: colour is not the only sign
    g.fillStyle = { tick: c.tick, short: c.short, long: c.long }[grade]
    g.fillRect(a, top + bar.top - tall, wide, bar.height + 2 * tall)
    if (look.selected?.scope === lane.scope && look.selected.from === t.from) outline(g, a, top + bar.top, wide, c)
  }
}

function outline(g: CanvasRenderingContext2D, a: number, top: number, width: number, c: Palette): void {
  g.strokeStyle = c.chosen
  g.lineWidth = 2
  g.strokeRect(a, top - 2, Math.max(4, width - 1), shapeOf(false).height + 4)
}

const leastRoom = 26
const widths = new Map<string, number>() // of texts, in the one font that lanes have

/** fitted is a text as it has room: what is left out is left out of its middle. */
function fitted(g: CanvasRenderingContext2D, text: string, room: number): string {
  if (widths.size > 5000) widths.clear()
  const wide = widths.get(text) ?? widths.set(text, g.measureText(text).width).get(text)!
  return wide <= room ? text : middle(text, Math.max(3, Math.floor(([...text].length * room) / wide) - 1))
}

function label(g: CanvasRenderingContext2D, text: string, x: number, y: number, room: number, colour: string): void {
  if (room < leastRoom) return
  g.save()
  g.beginPath()
  g.rect(x, y - 10, room, 20)
  g.clip()
  g.fillStyle = colour
  g.fillText(fitted(g, plain(text), room), x, y)
  g.restore()
}

const steps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 432000].map((s) => s * 1000)

function drawAxis(g: CanvasRenderingContext2D, look: Look, width: number, height: number, c: Palette): void {
  const room = Math.max(2, Math.floor(width / 95))
  const step = steps.find((s) => (look.to - look.from) / s <= room) ?? steps[steps.length - 1]!
  const off = new Date(look.from).getTimezoneOffset() * 60_000
  g.textAlign = 'center'
  for (let t = Math.ceil((look.from - off) / step) * step + off; t < look.to; t += step) {
    const x = ((t - look.from) / (look.to - look.from)) * width
    g.fillStyle = c.line
    g.fillRect(x, 0, 1, height - axis + 4)
    g.fillStyle = c.faint
    if (x > 30 && x < width - 30) g.fillText(axisLabel(t, step), x, height - axis / 2 + 2)
  }
  g.textAlign = 'start'
}

const dayOnly = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short' })
const minutes = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const seconds = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

function axisLabel(t: number, step: number): string {
  const at = new Date(t)
  if (step >= 86_400_000 || (at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0)) return dayOnly.format(at)
  return (step < 60_000 ? seconds : minutes).format(at)
}

/** hit finds the term at a place of the canvas; a time without a leader before the bar that it lies on. */
export function hit(lanes: Lane[], look: Look, width: number, px: number, py: number): { lane: Lane; term: Term } | null {
  const lane = lanes[Math.floor(py / shapeOf(look.named).lane)]
  if (!lane) return null
  const per = (look.to - look.from) / width
  const at = look.from + px * per
  let found: Term | null = null
  for (let i = Math.max(0, firstAfter(lane.terms, at - 6 * per) - 1); i < lane.terms.length && lane.terms[i]!.from <= at + 3 * per; i++) {
    const t = lane.terms[i]!
    if (t.holder === '' && at >= t.from - 3 * per && at <= Math.max(t.to, t.from + least[gradeOf(t.to - t.from, lane.lease)] * per) + 3 * per) return { lane, term: t }
    if (t.holder !== '' && at >= t.from && at <= t.to) found = t
  }
  return found ? { lane, term: found } : null
}

/** drawBrush draws the whole time: where nobody led, and the part in view. */
export function drawBrush(canvas: HTMLCanvasElement, gaps: { at: number; ms: number; lease: number }[], whole: { from: number; to: number }, look: Look): void {
  const ratio = devicePixelRatio || 1
  const [width, height] = [canvas.clientWidth, canvas.clientHeight]
  canvas.width = Math.round(width * ratio)
  canvas.height = Math.round(height * ratio)
  const g = canvas.getContext('2d')
  if (!g) return
  const c = paletteOf(canvas)
  g.setTransform(ratio, 0, 0, ratio, 0, 0)
  const x = (t: number) => ((t - whole.from) / (whole.to - whole.from)) * width
  g.fillStyle = c.line
  g.fillRect(0, height - 3, width, 1)
  for (const grade of ['tick', 'short', 'long'] as const) {
    g.fillStyle = { tick: c.tick, short: c.short, long: c.long }[grade]
    const tall = { tick: 6, short: 12, long: 20 }[grade]
    for (const gap of gaps) if (gradeOf(gap.ms, gap.lease) === grade) g.fillRect(x(gap.at - gap.ms), height - 3 - tall, Math.max(1.5, x(gap.at) - x(gap.at - gap.ms)), tall)
  }
  const [a, b] = [x(Math.max(whole.from, look.from)), x(look.to)]
  g.strokeStyle = c.hues[0]!
  g.lineWidth = 2
  g.strokeRect(Math.max(1, a), 1, Math.max(5, b - a - 2), height - 2)
}
