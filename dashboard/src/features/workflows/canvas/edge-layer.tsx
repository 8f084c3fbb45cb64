import { ViewportPortal } from '@xyflow/react'
import { memo, type ReactNode } from 'react'
import { type Layout, type PlacedEdge, placeKey } from './layout/geometry.ts'
import { svgPathOf } from './layout/path.ts'

type EdgeLook = 'plain' | 'on' | 'off' | 'added' | 'removed'
/** `note` stands on the edge, such as how many contacts took it. */
type EdgeMark = { look?: EdgeLook; note?: ReactNode }
export type EdgeMarks = (edge: PlacedEdge) => EdgeMark | undefined

const STROKES: Record<EdgeLook, string> = {
  plain: 'stroke-edge',
  on: 'stroke-accent stroke-[3px]',
  off: 'stroke-line',
  added: 'stroke-good stroke-[3px]',
  removed: 'stroke-danger [stroke-dasharray:4_4]',
}

type EdgeLayerProps = { layout: Layout; marksOf?: EdgeMarks | undefined }

/** The lines between steps, below them, with the names of branches. */
export function EdgeLayer({ layout: { edges }, marksOf }: EdgeLayerProps) {
  return (
    <ViewportPortal>
      <svg className="pointer-events-none absolute top-0 left-0 overflow-visible" width="1" height="1" aria-hidden="true">
        <defs>
          <marker
            id="flow-arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="10"
            markerHeight="10"
            markerUnits="userSpaceOnUse"
            orient="auto"
          >
            <path d="M0 0L8 4L0 8z" className="fill-edge" />
          </marker>
        </defs>
        {edges.map((edge) => (
          <Line
            key={placeKey(edge.place)}
            path={svgPathOf(edge.points)}
            look={marksOf?.(edge)?.look ?? 'plain'}
            isLoop={edge.isLoop}
            leadsOn={edge.to !== undefined}
          />
        ))}
      </svg>
      {edges.map((edge) => {
        const note = marksOf?.(edge)?.note
        // The plain transition needs no name.
        const label = edge.place.branch === null && !edge.label.startsWith('When') ? '' : edge.label
        if (!label && !note) return null
        return (
          <div
            key={placeKey(edge.place)}
            className="nopan pointer-events-auto absolute top-0 left-0 flex w-36 flex-col items-center gap-0.5 text-xs"
            style={{ transform: `translate(${edge.plus.x}px, ${edge.plus.y - 32}px) translateX(-50%)` }}
          >
            {label && <span className="max-w-full truncate rounded-sm bg-canvas px-1 font-medium text-muted">{label}</span>}
            {note && <span className="rounded-sm bg-canvas px-1">{note}</span>}
          </div>
        )
      })}
    </ViewportPortal>
  )
}

type LineProps = { path: string; look: EdgeLook; isLoop: boolean; leadsOn: boolean }

const Line = memo(({ path, look, isLoop, leadsOn }: LineProps) => (
  <path
    d={path}
    className={`fill-none ${STROKES[look]} ${isLoop ? '[stroke-dasharray:6_4]' : ''}`}
    strokeWidth={1.5}
    markerEnd={leadsOn ? 'url(#flow-arrow)' : undefined}
  />
))
