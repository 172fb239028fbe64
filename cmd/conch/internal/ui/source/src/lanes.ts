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

export interface Gap { at: number; ms: number; lease: number }

interface Palette { hues: string[]; tick: string; short: string; long: string; line: string; text: string; faint: string; onBar: string; chosen: string; font: string }

let known: { theme: string; palette: Palette } | null = null
const darkness = matchMedia('(prefers-color-scheme: dark)')

/** paletteOf reads the colours that the style sheet has now, light or dark: as the colour of an element, since a variable is not resolved. */
function paletteOf(at: HTMLElement): Palette {
  const theme = document.documentElement.className + darkness.matches
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
    onBar: c('on-hue'), chosen: c('text'), font: `12px ${getComputedStyle(at).fontFamily}`,
  }
}

export const heightOf = (lanes: number, named: boolean) => lanes * shapeOf(named).lane + axis

/** firstAfter finds the first term that ends at or after an instant: a lane has thousands, and few are in view. */
export function firstAfter(terms: Term[], at: number): number {
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

/** sized makes a canvas as large as it is shown, and clears it. */
function sized(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = devicePixelRatio || 1
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)]
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w
    canvas.height = h
  }
  const g = canvas.getContext('2d')
  g?.setTransform(ratio, 0, 0, ratio, 0, 0)
  g?.clearRect(0, 0, width, height)
  return g
}

export function draw(canvas: HTMLCanvasElement, lanes: Lane[], look: Look): void {
  const width = canvas.clientWidth
  const height = heightOf(lanes.length, look.named)
  const g = sized(canvas, width, height)
  if (!g) return
  const colours = paletteOf(canvas)
  if (g.font !== colours.font) g.font = colours.font
  g.textBaseline = 'middle'
  drawAxis(g, look, width, height, colours)
  const { lane: high } = shapeOf(look.named)
  const on = new Bars(width, look, colours)
  lanes.forEach((lane, n) => {
    if (look.named) on.label(lane.scope, 0, n * high + 12, width, colours.text)
    on.take(lane, n * high)
  })
  on.draw(g)
}

/** Bars are what is drawn of lanes, by colour: a canvas that changes its colour with each bar takes several times as long. */
class Bars {
  private readonly rects = new Map<string, number[]>() // by colour, in the order in which they lie upon another
  private readonly texts = new Map<string, { text: string; x: number; y: number; room: number }[]>()
  private readonly per: number
  private outline: [number, number, number, number] | null = null

  constructor(private readonly width: number, private readonly look: Look, private readonly c: Palette) {
    this.per = width / (look.to - look.from)
    for (const colour of [...c.hues, c.tick, c.short, c.long]) this.rects.set(colour, [])
  }

  private x = (t: number) => (t - this.look.from) * this.per

  take(lane: Lane, top: number): void {
    const { look, c, width } = this
    const bar = shapeOf(look.named)
    const chosen = look.selected?.scope === lane.scope ? look.selected.from : NaN
    for (let i = firstAfter(lane.terms, look.from); i < lane.terms.length; i++) {
      const t = lane.terms[i]!
      if (t.from > look.to) break
      let [a, wide] = [this.x(t.from), 0]
      if (t.holder === '') {
        const grade = gradeOf(t.to - t.from, lane.lease)
        wide = Math.max(least[grade], this.x(t.to) - a)
        const tall = { tick: -5, short: 1, long: 4 }[grade] // the worse, the taller: colour is not the only sign
        this.rects.get(c[grade])!.push(a, top + bar.top - tall, wide, bar.height + 2 * tall)
      } else {
        wide = Math.min(width, this.x(t.to)) - (a = Math.max(0, a))
        this.rects.get(c.hues[look.hueOf(t.holder)]!)!.push(a, top + bar.top, Math.max(0.5, wide - 1), bar.height)
        if (wide > 46) this.label(`${t.holder} · ${t.epoch}`, a + 6, top + bar.top + bar.height / 2 + 1, wide - 12, c.onBar)
      }
      if (t.from === chosen) this.outline = [a, top + bar.top - 2, Math.max(4, wide - 1), bar.height + 4]
    }
  }

  label(text: string, x: number, y: number, room: number, colour: string): void {
    if (room < leastRoom) return
    const list = this.texts.get(colour)
    if (list) list.push({ text, x, y, room })
    else this.texts.set(colour, [{ text, x, y, room }])
  }

  draw(g: CanvasRenderingContext2D): void {
    for (const [colour, list] of this.rects) {
      g.fillStyle = colour
      for (let i = 0; i < list.length; i += 4) g.fillRect(list[i]!, list[i + 1]!, list[i + 2]!, list[i + 3]!)
    }
    for (const [colour, list] of this.texts) {
      g.fillStyle = colour
      for (const { text, x, y, room } of list) g.fillText(fitted(g, text, Math.floor(room)), x, y)
    }
    if (!this.outline) return
    g.strokeStyle = this.c.chosen
    g.lineWidth = 2
    g.strokeRect(...this.outline)
  }
}

const leastRoom = 26
const drawn = new Map<string, { text: string; wide: number; cut: Map<number, string> }>() // texts in the one font that lanes have

/** fitted is a text as it has room: what is left out is left out of its middle. */
function fitted(g: CanvasRenderingContext2D, of: string, room: number): string {
  let known = drawn.get(of)
  if (!known) {
    if (drawn.size > 5000) drawn.clear()
    const text = plain(of)
    known = { text, wide: g.measureText(text).width, cut: new Map() }
    drawn.set(of, known)
  }
  if (known.wide <= room) return known.text
  let cut = known.cut.get(room)
  if (cut === undefined) {
    let most = Math.max(3, Math.floor(([...known.text].length * room) / known.wide) - 1)
    do cut = middle(known.text, most)
    while (most-- > 1 && g.measureText(cut).width > room)
    known.cut.set(room, cut)
  }
  return cut
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

let month: { gaps: Gap[]; c: Palette; key: string; canvas: HTMLCanvasElement } | null = null

/** drawBrush draws the whole time: where nobody led, which is kept, and the part in view. */
export function drawBrush(canvas: HTMLCanvasElement, gaps: Gap[], whole: { from: number; to: number }, look: Look): void {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight]
  const g = sized(canvas, width, height)
  if (!g) return
  const c = paletteOf(canvas)
  const per = width / (whole.to - whole.from)
  const key = [width, height, devicePixelRatio, Math.round(whole.to * per)].join()
  if (month?.gaps !== gaps || month.c !== c || month.key !== key) {
    month = { gaps, c, key, canvas: month?.canvas ?? document.createElement('canvas') }
    drawGaps(sized(month.canvas, width, height)!, gaps, (t) => (t - whole.from) * per, width, height, c)
  }
  if (month.canvas.width > 0) g.drawImage(month.canvas, 0, 0, width, height)
  const [a, b] = [(Math.max(whole.from, look.from) - whole.from) * per, (look.to - whole.from) * per]
  g.strokeStyle = c.hues[0]!
  g.lineWidth = 2
  g.strokeRect(Math.max(1, a), 1, Math.max(5, b - a - 2), height - 2)
}

function drawGaps(g: CanvasRenderingContext2D, gaps: Gap[], x: (t: number) => number, width: number, height: number, c: Palette): void {
  g.fillStyle = c.line
  g.fillRect(0, height - 3, width, 1)
  for (const grade of ['tick', 'short', 'long'] as const) {
    g.fillStyle = c[grade]
    const tall = { tick: 6, short: 12, long: 20 }[grade]
    for (const gap of gaps) if (gradeOf(gap.ms, gap.lease) === grade) g.fillRect(x(gap.at - gap.ms), height - 3 - tall, Math.max(1.5, x(gap.at) - x(gap.at - gap.ms)), tall)
  }
}
