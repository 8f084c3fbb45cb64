import { useMutation } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import { type ReactNode, useState } from 'react'
import { Button } from './button.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
import { Input } from './input.tsx'

type DialogProps = { title: string; description: ReactNode; open: boolean; onOpenChange: (open: boolean) => void; children: ReactNode }

export function Dialog({ title, description, open, onOpenChange, children }: DialogProps) {
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 grid place-items-end overflow-y-auto bg-[#04131a]/55 motion-safe:animate-fade sm:place-items-center sm:p-6">
          <Radix.Content className="relative w-full max-w-lg rounded-t-2xl border border-line bg-surface p-6 shadow-float outline-none motion-safe:animate-rise sm:rounded-2xl sm:p-8">
            <Radix.Title className="pr-10 font-semibold text-xl">{title}</Radix.Title>
            <Radix.Description asChild>
              <div className="mt-2 text-muted text-sm leading-relaxed">{description}</div>
            </Radix.Description>
            <div className="mt-6">{children}</div>
            <Radix.Close
              aria-label="Close"
              className="absolute top-4 right-4 flex size-10 items-center justify-center rounded-lg text-muted hover:bg-sunken hover:text-ink"
            >
              <X className="size-4.5" />
            </Radix.Close>
          </Radix.Content>
        </Radix.Overlay>
      </Radix.Portal>
    </Radix.Root>
  )
}

type ConfirmProps = {
  title: string
  description: ReactNode
  /** The label of the button. */
  action: string
  /** The text to type before an irreversible action. */
  phrase?: string
  onConfirm: () => Promise<unknown>
  children: (open: () => void) => ReactNode
}

/** Asks for confirmation of an action; `children` renders the control that opens it. */
export function ConfirmDialog({ title, description, action, phrase, onConfirm, children }: ConfirmProps) {
  const [open, setOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const confirm = useMutation({ mutationFn: onConfirm, onSuccess: () => setOpen(false) })

  function show(next: boolean) {
    setTyped('')
    confirm.reset()
    setOpen(next)
  }

  return (
    <>
      {children(() => show(true))}
      <Dialog title={title} description={description} open={open} onOpenChange={show}>
        <Form error={confirm.error} onSubmit={() => confirm.mutate()}>
          {phrase && (
            <Field name="phrase" label={<>Type “{phrase}” to confirm</>}>
              <Input value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" spellCheck={false} />
            </Field>
          )}
          <div className="flex flex-col-reverse gap-3 sm:flex-row sm:justify-end">
            <Button onClick={() => show(false)}>Cancel</Button>
            <Button
              type="submit"
              variant="danger"
              busy={confirm.isPending}
              disabled={phrase !== undefined && typed.trim() !== phrase.trim()}
            >
              {action}
            </Button>
          </div>
        </Form>
      </Dialog>
    </>
  )
}
