import { Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'
import { formatPercent } from '../../ui/text/count.tsx'

type FallbackDialogProps = { path: string; coverage: number; onDone: (fallback: string | undefined) => void; onCancel: () => void }

/** Asks for the text for contacts without a value of a field. */
export function FallbackDialog({ path, coverage, onDone, onCancel }: FallbackDialogProps) {
  const who = coverage > 0 ? `${formatPercent(coverage)} of contacts have a value for ${path}.` : `No contact has a value for ${path} yet.`
  return (
    <Dialog
      title={`Fallback for ${path}`}
      description={`${who} What do the other contacts see?`}
      open
      onOpenChange={(open) => !open && onCancel()}
    >
      <Form error={null} onSubmit={(value) => onDone(value('fallback').trim() || undefined)}>
        <Field name="fallback" label="Fallback" hint="Empty: nothing is shown.">
          <Input maxLength={500} autoComplete="off" placeholder="friend" />
        </Field>
        <DialogButtons>
          <Button onClick={onCancel}>Cancel</Button>
          <Button type="submit" variant="primary">
            Insert
          </Button>
        </DialogButtons>
      </Form>
    </Dialog>
  )
}
