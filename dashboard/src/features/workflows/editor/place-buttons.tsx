import { ViewportPortal } from '@xyflow/react'
import { Plus } from 'lucide-react'
import { memo, useContext } from 'react'
import { Menu } from '../../../ui/dialog/menu.tsx'
import { CanvasContext } from '../canvas/canvas-context.ts'
import { END_SIZE, type Layout, placeKey, type Spot } from '../canvas/layout/geometry.ts'
import type { Place } from '../graph/graph.ts'
import { AddMenuItems } from './add-menu.tsx'

type PlaceButtonsProps = {
  layout: Layout
  /** Names of steps, for screen readers. */
  nameOf: (stepId: string) => string
  /** Places without a branch of their own, with where their step is drawn. */
  asides: Place[]
  openPlace: Place | undefined
  isMoving: boolean
}

/** A button for adding a step on every edge and at every open end. While a step is moved, it marks the places where the step can go. */
export function PlaceButtons({ layout, nameOf, asides, openPlace, isMoving }: PlaceButtonsProps) {
  const isOpen = (place: Place) => openPlace !== undefined && placeKey(place) === placeKey(openPlace)
  const at = new Map(layout.steps.map((step) => [step.id, step]))
  const common = (place: Place) => ({
    fromStepId: place.fromStepId,
    branch: place.branch,
    after: `${nameOf(place.fromStepId)}${place.branch ? `, ${place.branch}` : ''}`,
    isOpen: isOpen(place),
    isMoving,
  })
  return (
    <ViewportPortal>
      {layout.edges
        .filter(({ to }) => to !== undefined)
        .map(({ place, plus }) => (
          <PlaceButton key={placeKey(place)} {...common(place)} {...plus} kind="edge" />
        ))}
      {layout.ends.map(({ place, x, y }) => (
        <PlaceButton key={placeKey(place)} {...common(place)} x={x + END_SIZE.width / 2} y={y} kind="end" />
      ))}
      {asides.map((place) => {
        const step = at.get(place.fromStepId)
        return step && <PlaceButton key={placeKey(place)} {...common(place)} {...asidePoint(step)} kind="aside" />
      })}
    </ViewportPortal>
  )
}

/** At the right edge of the step, where a branch of its own would begin. */
const asidePoint = ({ x, y }: Spot): Spot => ({ x: x + 264, y: y + 42 })

type PlaceButtonProps = Place & Spot & { after: string; isOpen: boolean; isMoving: boolean; kind: 'edge' | 'end' | 'aside' }

const SHAPES = {
  edge: '-translate-x-1/2 -translate-y-1/2 size-7 rounded-full',
  end: '-translate-x-1/2 h-9 w-33 gap-1 rounded-lg border-dashed',
  aside: '-translate-x-1/2 -translate-y-1/2 size-7 rounded-full border-dashed',
}

const PlaceButton = memo(({ fromStepId, branch, x, y, after, isOpen, isMoving, kind }: PlaceButtonProps) => {
  const { openPlace, moveTo } = useContext(CanvasContext)!
  const place = { fromStepId, branch }
  const label = isMoving ? `Move here, after ${after}` : `Add a step after ${after}`
  const button = (
    <button
      type="button"
      data-place={placeKey(place)}
      aria-label={label}
      title={kind === 'aside' ? 'Add a step for when the time is over' : label}
      onClick={() => (isMoving ? moveTo(place) : openPlace(place))}
      className={`nopan pointer-events-auto absolute flex items-center justify-center border text-ui hover:border-accent hover:text-accent pointer-coarse:after:absolute pointer-coarse:after:-inset-2 ${SHAPES[kind]} ${isMoving ? 'border-accent bg-accent-soft text-accent' : 'border-edge bg-surface text-muted'}`}
    >
      <Plus className="size-4" aria-hidden="true" />
      {kind === 'end' && (isMoving ? 'Move here' : 'Add a step')}
    </button>
  )
  return (
    <div className="absolute top-0 left-0 size-0" style={{ transform: `translate(${x}px, ${y}px)` }}>
      {isOpen ? (
        <Menu open leavesFocus onOpenChange={(open) => !open && openPlace(undefined)} trigger={button}>
          <AddMenuItems place={place} />
        </Menu>
      ) : (
        button
      )}
    </div>
  )
})
