import { useMutation } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import { type ReactNode, useState } from 'react'
import { Button } from '../form/button.tsx'
import { Field } from '../form/field.tsx'
import { Form } from '../form/form.tsx'
import { Input } from '../form/input.tsx'

type DialogProps = {
  title: string
  description: ReactNode
  open: boolean
  onOpenChange: (open: boolean) => void
  /** For content in columns. */
  wide?: boolean
  children: ReactNode
}

export function Dialog({ title, description, open, onOpenChange, wide = false, children }: DialogProps) {
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 grid place-items-end overflow-y-auto bg-[#04131a]/55 motion-safe:animate-fade sm:place-items-center sm:p-6">
          <Radix.Content
            className={`relative w-full ${wide ? 'max-w-5xl' : 'max-w-lg'} rounded-t-xl border border-line bg-surface p-5 shadow-float outline-none motion-safe:animate-rise sm:rounded-xl sm:p-6`}
          >
            <Radix.Title className="pr-10 font-semibold text-base leading-6">{title}</Radix.Title>
            <Radix.Description asChild>
              <div className="mt-1 text-muted text-ui">{description}</div>
            </Radix.Description>
            <div className="mt-4">{children}</div>
            <Radix.Close
              aria-label="Close"
              className="absolute top-3 right-3 flex size-8 items-center justify-center rounded-md text-muted hover:bg-sunken hover:text-ink pointer-coarse:size-11"
            >
              <X className="size-4" />
            </Radix.Close>
          </Radix.Content>
        </Radix.Overlay>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** The buttons at the end of a dialog; on a phone the main one is on top. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return <div className="flex flex-col-reverse gap-2 sm:flex-row sm:justify-end">{children}</div>
}

type ConfirmProps = {
  title: string
  description: ReactNode
  /** The label of the button. */
  action: string
  /** The text to type before an irreversible action. */
  phrase?: string | undefined
  onConfirm: () => Promise<unknown>
}

type OpenProps = { open: boolean; onOpenChange: (open: boolean) => void }

/** Asks for confirmation of an action, with its consequences. Its trigger is elsewhere, such as in a menu. */
export function Confirm({ title, description, action, phrase, onConfirm, open, onOpenChange }: ConfirmProps & OpenProps) {
  return (
    <Dialog title={title} description={description} open={open} onOpenChange={onOpenChange}>
      <ConfirmForm action={action} phrase={phrase} onConfirm={onConfirm} onDone={() => onOpenChange(false)} />
    </Dialog>
  )
}

function ConfirmForm({
  action,
  phrase,
  onConfirm,
  onDone,
}: Pick<ConfirmProps, 'action' | 'phrase' | 'onConfirm'> & { onDone: () => void }) {
  const [typed, setTyped] = useState('')
  const confirm = useMutation({ mutationFn: onConfirm, onSuccess: onDone })
  return (
    <Form error={confirm.error} onSubmit={() => confirm.mutate()}>
      {phrase && (
        <Field name="phrase" label={<>Type “{phrase}” to confirm</>}>
          <Input value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" spellCheck={false} />
        </Field>
      )}
      <DialogButtons>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" variant="danger" busy={confirm.isPending} disabled={phrase !== undefined && typed.trim() !== phrase.trim()}>
          {action}
        </Button>
      </DialogButtons>
    </Form>
  )
}

/** A confirmation together with the control that opens it, which `children` renders. */
export function ConfirmDialog({ children, ...props }: ConfirmProps & { children: (open: () => void) => ReactNode }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      {children(() => setOpen(true))}
      <Confirm {...props} open={open} onOpenChange={setOpen} />
    </>
  )
}
