// Curves over time. This file alone knows the library that draws them, and is loaded once there is something to draw.
import uPlot from 'uplot'

export interface Curve { name: string; colour: string; dash: number[]; values: (number | null)[] }

/** draw draws curves into a box. Times are in seconds. It returns what removes them. */
export function draw(box: HTMLElement, times: number[], curves: Curve[], point: (at: number | null) => void): () => void {
  const colour = (name: string) => {
    box.style.setProperty('color', `var(--${name})`)
    const read = getComputedStyle(box).color
    box.style.removeProperty('color')
    return read
  }
  const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
  const axis = { stroke: colour('faint'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' }
  const made = new uPlot({
    width: box.clientWidth, height: 190, legend: { show: false }, padding: [8, 8, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { y: { range: (_, __, most) => [0, Math.max(4, most * 1.08)] } },
    axes: [
      { ...axis, size: 28, space: 70, values: (_, all) => all.map((t) => hour.format(t * 1000)) },
      { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000], values: (_, all) => all.map((n) => n.toLocaleString('en')) },
    ],
    series: [{}, ...curves.map((c) => ({ label: c.name, stroke: colour(c.colour), width: 2, dash: c.dash, points: { show: false }, spanGaps: false }))],
    hooks: { setCursor: [(u) => point(u.cursor.idx ?? null)] },
  }, [times, ...curves.map((c) => c.values)], box)
  return () => made.destroy()
}
