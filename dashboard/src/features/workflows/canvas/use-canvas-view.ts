import { useReactFlow } from '@xyflow/react'
import { type FocusEvent, type RefObject, useEffect } from 'react'
import { type Layout, placeKey, type Spot, STEP_SIZE } from './layout/geometry.ts'

const MARGIN = 24
/** Texts of steps are hard to read below this; the rest of a wide workflow is a scroll away. */
const READABLE = 0.6

/** The viewport of the canvas: at the trigger first, then at the step that is selected or has the focus. */
export function useCanvasView(frame: RefObject<HTMLElement | null>, layout: Layout, chosen: string | undefined) {
  const flow = useReactFlow()

  function start() {
    const width = frame.current?.clientWidth ?? 0
    const first = layout.steps[0]
    if (!first || width === 0) return
    const columns = layout.steps.map(({ x }) => x)
    const whole = Math.max(...columns) - Math.min(...columns) + STEP_SIZE.width + 2 * MARGIN
    const zoom = Math.min(1, Math.max(READABLE, width / whole))
    void flow.setViewport({ x: width / 2 - (first.x + STEP_SIZE.width / 2) * zoom, y: MARGIN * zoom, zoom })
    if (chosen) show(layout.steps.find(({ id }) => id === chosen))
  }

  /** Moves the canvas if a step or a button is out of sight. */
  function show(point: Spot | undefined, size = STEP_SIZE) {
    if (!point || !frame.current) return
    const { x, y, zoom } = flow.getViewport()
    const { clientWidth, clientHeight } = frame.current
    const left = point.x * zoom + x
    const top = point.y * zoom + y
    const isSeen = left >= 0 && top >= 0 && left + size.width * zoom <= clientWidth && top + size.height * zoom <= clientHeight
    if (!isSeen) void flow.setCenter(point.x + size.width / 2, point.y + size.height / 2, { zoom })
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new choice moves the canvas, not every edit
  useEffect(() => show(layout.steps.find(({ id }) => id === chosen)), [chosen])

  /** Tab may come to a button that is out of sight. Not by a click: the button would move away below the pointer, before its end. */
  function reveal({ target }: FocusEvent) {
    const place = target instanceof HTMLElement && target.matches(':focus-visible') ? target.dataset.place : undefined
    const plus = place !== undefined && layout.edges.find((edge) => placeKey(edge.place) === place)?.plus
    if (plus) show({ x: plus.x - 20, y: plus.y - 20 }, { width: 40, height: 40 })
  }
  return { start, reveal }
}
