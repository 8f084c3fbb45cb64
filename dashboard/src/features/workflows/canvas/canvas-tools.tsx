import { Panel, useReactFlow } from '@xyflow/react'
import { Maximize, ZoomIn, ZoomOut } from 'lucide-react'
import { IconButton } from '../../../ui/form/button.tsx'

/** Zoom, and the whole workflow at once. */
export function CanvasTools() {
  const { zoomIn, zoomOut, fitView } = useReactFlow()
  return (
    <Panel position="bottom-left" className="flex rounded-lg border border-line bg-surface shadow-sm">
      <IconButton label="Zoom in" onClick={() => zoomIn()}>
        <ZoomIn />
      </IconButton>
      <IconButton label="Zoom out" onClick={() => zoomOut()}>
        <ZoomOut />
      </IconButton>
      <IconButton label="Show everything" onClick={() => fitView({ padding: 0.1, maxZoom: 1 })}>
        <Maximize />
      </IconButton>
    </Panel>
  )
}
