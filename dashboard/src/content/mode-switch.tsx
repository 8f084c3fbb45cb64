import type { Design } from '@sterna/sdk'
import { useState } from 'react'
import { designOfHtml } from '../design/document/design-json.ts'
import { useApi } from '../projects/current.ts'
import { Confirm } from '../ui/dialog/dialog.tsx'
import { toast } from '../ui/dialog/toast.tsx'
import { Button } from '../ui/form/button.tsx'
import type { ContentValues } from './values/content-values.ts'

export type ContentChange = Partial<Pick<ContentValues, 'design' | 'body'>>
type Content = Pick<ContentValues, 'design' | 'body'>

/** A design that was left for its HTML, and that HTML. */
type LeftDesign = { design: Design; body: string; html: string }

type ModeSwitchProps = {
  values: Content
  saved: Content
  onContent: (change: ContentChange) => void
  showsCode: boolean
  onShowCode: (shows: boolean) => void
}

const TAB =
  'flex h-8 items-center rounded-md px-2 font-medium text-muted text-xs hover:text-ink aria-pressed:bg-accent-soft aria-pressed:text-ink pointer-coarse:h-11'

/**
 * From blocks to code and back. Nothing is converted behind the author's back: code is what the design renders to, and code as a design is one
 * block that holds it.
 */
export function ModeSwitch(props: ModeSwitchProps) {
  const { values, saved } = props
  const [left, setLeft] = useState<LeftDesign>()
  // A reloaded page still knows the design that is stored.
  const known = left ?? (saved.design ? { design: saved.design, body: saved.body, html: saved.body } : undefined)
  if (values.design) return <FromVisual {...props} design={values.design} onLeave={setLeft} />
  return <FromCode {...props} left={known} />
}

function FromVisual({
  values,
  onContent,
  showsCode,
  onShowCode,
  design,
  onLeave,
}: ModeSwitchProps & { design: Design; onLeave: (left: LeftDesign) => void }) {
  const api = useApi()
  const [asking, setAsking] = useState(false)
  async function editCode() {
    const { html } = await api.designs.render({ design })
    onLeave({ design, body: values.body, html })
    onShowCode(false)
    onContent({ design: null, body: html })
  }
  return (
    <div className="flex flex-wrap items-center gap-1">
      <button type="button" className={TAB} aria-pressed={!showsCode} onClick={() => onShowCode(false)}>
        Visual
      </button>
      <button type="button" className={TAB} aria-pressed={showsCode} onClick={() => onShowCode(true)}>
        Code
      </button>
      {showsCode && (
        <Button size="sm" variant="quiet" onClick={() => setAsking(true)}>
          Edit as HTML…
        </Button>
      )}
      <Confirm
        title="Edit this email as HTML?"
        description="The blocks are left behind when you save. Until then you can go back to them; later they are only in older versions."
        action="Edit as HTML"
        open={asking}
        onOpenChange={setAsking}
        onConfirm={editCode}
      />
    </div>
  )
}

function FromCode({ values, onContent, left }: ModeSwitchProps & { left: LeftDesign | undefined }) {
  const [asking, setAsking] = useState(false)
  const isUnchanged = left !== undefined && values.body === left.html
  const goBack = () => left && onContent({ design: left.design, body: left.body })
  function wrap() {
    const { body } = values
    onContent({ design: designOfHtml(body) })
    toast('The HTML is now one block', { action: { label: 'Undo', run: () => onContent({ design: null, body }) } })
  }
  return (
    <div className="flex flex-wrap items-center gap-1">
      <span className="pr-2">
        HTML and <code className="font-mono">{'{{ variables }}'}</code>; type <code className="font-mono">{'{{'}</code> for a list
      </span>
      {left ? (
        <Button size="sm" variant="quiet" onClick={() => (isUnchanged ? goBack() : setAsking(true))}>
          Back to visual
        </Button>
      ) : (
        <Button size="sm" variant="quiet" onClick={() => setAsking(true)}>
          Make it visual…
        </Button>
      )}
      {left ? (
        <Confirm
          title="Go back to the blocks?"
          description="Your changes to the HTML are lost: HTML cannot be converted to blocks."
          action="Drop the HTML"
          open={asking}
          onOpenChange={setAsking}
          onConfirm={async () => goBack()}
        />
      ) : (
        <Confirm
          title="Make this email visual?"
          description="All of its HTML goes into one HTML block, unchanged. You can then add blocks above and below it, and replace it part by part."
          action="Make it visual"
          open={asking}
          onOpenChange={setAsking}
          onConfirm={async () => wrap()}
        />
      )}
    </div>
  )
}
