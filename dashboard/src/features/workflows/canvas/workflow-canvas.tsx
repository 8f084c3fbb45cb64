import '@xyflow/react/dist/base.css'
import './canvas.css'
import { MiniMap, ReactFlow, ReactFlowProvider } from '@xyflow/react'
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef } from 'react'
import { type Flow, flowOf } from '../graph/flow.ts'
import type { Graph, Place } from '../graph/graph.ts'
import type { StepTexts } from '../steps/step-texts.ts'
import { type CanvasActions, CanvasContext } from './canvas-context.ts'
import { CanvasTools } from './canvas-tools.tsx'
import { EdgeLayer, type EdgeMarks } from './edge-layer.tsx'
import type { Layout } from './layout/geometry.ts'
import { layoutFlow } from './layout/layout.ts'
import { isArrow, stepTowards } from './layout/walk.ts'
import { nodesOf, type StepMarks, type StepNodeData } from './nodes.ts'
import { StepNode } from './step-node.tsx'
import { useCanvasView } from './use-canvas-view.ts'

const NODE_TYPES = { step: StepNode }
/** Smaller workflows are seen as a whole. */
const MINIMAP_FROM = 30
const NO_MARKS: StepMarks = {}

type WorkflowCanvasProps = {
  label: string
  workflowId: string
  graph: Graph
  /** The transitions to draw, if they differ from those of the graph. */
  flow?: Flow | undefined
  texts: StepTexts
  chosen: string | undefined
  onChoose: (stepId: string | undefined) => void
  marks?: StepMarks
  edgeMarks?: EdgeMarks
  /** Keys besides the arrows, while a step has the focus. Returns whether it was one of them. */
  onStepKey?: (event: KeyboardEvent, stepId: string) => boolean
  /** Callbacks of the buttons that `children` renders. */
  onPlace?: (place: Place | undefined) => void
  onMoveTo?: (place: Place) => void
  children?: (layout: Layout) => ReactNode
}

/** A workflow drawn from top to bottom. Positions follow from the steps: nothing is dragged, and the drawing holds no state of its own. */
export default function WorkflowCanvas(props: WorkflowCanvasProps) {
  return (
    <ReactFlowProvider>
      <Canvas {...props} />
    </ReactFlowProvider>
  )
}

function Canvas(props: WorkflowCanvasProps) {
  const { label, graph, texts, chosen, onChoose, marks = NO_MARKS, edgeMarks, children } = props
  const frame = useRef<HTMLElement>(null)
  const layout = useLayout(graph, props.flow)
  const nodes = useNodes({ graph, layout, texts, chosen, marks })
  const actions = useActions(props)
  const { start, reveal } = useCanvasView(frame, layout, chosen)

  function onKeyDown(event: KeyboardEvent) {
    const stepId = event.target instanceof HTMLElement ? event.target.dataset.step : undefined
    if (stepId === undefined) return
    if (isArrow(event.key) && !event.altKey) {
      const next = stepTowards(layout, stepId, event.key)
      event.preventDefault()
      if (next === undefined) return
      focusStep(frame.current, next)
      onChoose(next)
    } else if (props.onStepKey?.(event, stepId)) event.preventDefault()
  }
  return (
    <CanvasContext value={actions}>
      <section ref={frame} aria-label={label} className="relative size-full bg-canvas" onKeyDown={onKeyDown} onFocus={reveal}>
        <ReactFlow
          nodes={nodes}
          nodeTypes={NODE_TYPES}
          onInit={start}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          deleteKeyCode={null}
          selectionKeyCode={null}
          multiSelectionKeyCode={null}
          disableKeyboardA11y
          panOnScroll
          zoomOnDoubleClick={false}
          minZoom={0.1}
          maxZoom={1.5}
        >
          <EdgeLayer layout={layout} marksOf={edgeMarks} />
          {children?.(layout)}
          {nodes.length >= MINIMAP_FROM && (
            <MiniMap
              pannable
              zoomable
              ariaLabel="Overview"
              className="border border-line max-lg:hidden"
              style={{ width: 96, height: 180 }}
              bgColor="var(--surface)"
              maskColor="color-mix(in srgb, var(--canvas) 70%, transparent)"
              nodeColor="var(--edge)"
            />
          )}
        </ReactFlow>
        <CanvasTools />
      </section>
    </CanvasContext>
  )
}

/** Laid out again only when steps or transitions come or go: not while somebody types. */
function useLayout(graph: Graph, given: Flow | undefined): Layout {
  const flow = useMemo(() => given ?? flowOf(graph), [graph, given])
  const shape = useMemo(() => JSON.stringify([flow.roots, ...flow.outs]), [flow])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape is all that counts of the flow
  return useMemo(() => layoutFlow(flow), [shape])
}

function useNodes(shown: Parameters<typeof nodesOf>[0]): StepNodeData[] {
  const previous = useRef<ReadonlyMap<string, StepNodeData>>(new Map())
  const { graph, layout, texts, chosen, marks } = shown
  const nodes = useMemo(() => nodesOf({ graph, layout, texts, chosen, marks }, previous.current), [graph, layout, texts, chosen, marks])
  useEffect(() => {
    previous.current = new Map(nodes.map((node) => [node.id, node]))
  }, [nodes])
  return nodes
}

/** The same object for the whole life of the canvas. */
function useActions(props: WorkflowCanvasProps): CanvasActions {
  const latest = useRef(props)
  latest.current = props
  return useMemo(
    () => ({
      workflowId: latest.current.workflowId,
      choose: (stepId) => latest.current.onChoose(stepId),
      openPlace: (place) => latest.current.onPlace?.(place),
      moveTo: (place) => latest.current.onMoveTo?.(place),
    }),
    [],
  )
}

const focusStep = (frame: ParentNode | null, stepId: string) =>
  frame?.querySelector<HTMLElement>(`[data-step="${stepId}"]`)?.focus({ preventScroll: true })
