import { lazy, Suspense, useState } from 'react'
import { printCondition, readConditionText } from '../../conditions/builder/condition-text.ts'
import type { FilterDialogProps } from '../../list/filters.ts'
import { Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { Button } from '../../ui/form/button.tsx'
import { readConditionFilter } from './contact-filter.ts'

const ConditionEditor = lazy(() =>
  import('../../conditions/condition-editor.tsx').then(({ ConditionEditor }) => ({ default: ConditionEditor })),
)

/** The conditions that contacts of the list match, built as those of a segment. */
export function ConditionFilter({ value, onChange, onClose }: FilterDialogProps) {
  const [text, setText] = useState(() => printCondition(readConditionFilter(value)?.condition))
  const read = readConditionText(text)
  return (
    <Dialog
      title="Filter by conditions"
      description="The list shows the contacts that match. Nothing is saved until you save it as a segment."
      open
      onOpenChange={onClose}
      wide
    >
      <Suspense fallback={<p className="min-h-40 text-muted text-ui">Loading…</p>}>
        <ConditionEditor text={text} onText={setText} />
      </Suspense>
      <div className="mt-4">
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            variant="primary"
            disabled={!('condition' in read)}
            onClick={() => 'condition' in read && onChange(JSON.stringify(read.condition))}
          >
            Show these contacts
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  )
}
