import { createContext } from 'react'
import type { Place } from '../graph/graph.ts'

/** Callbacks of steps and buttons of the canvas. The object never changes, so it causes no rendering. */
export type CanvasActions = {
  choose: (stepId: string) => void
  /** Opens the menu of a place; undefined closes it. */
  openPlace: (place: Place | undefined) => void
  moveTo: (place: Place) => void
  workflowId: string
}

export const CanvasContext = createContext<CanvasActions | null>(null)
