import { type LucideIcon, Plus } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Button } from '../form/button.tsx'
import { useShortcuts } from '../shortcuts/shortcuts.ts'
import { Dialog } from './dialog.tsx'

type CreateDialogProps = {
  /** The label of the button. */
  label: string
  icon?: LucideIcon
  /** A page has at most one primary button. */
  variant?: 'primary' | 'secondary'
  title: string
  description: ReactNode
  /** `c` opens it, under this name on the sheet of shortcuts. Only the main action of a page has it. */
  shortcut?: string
  wide?: boolean
  /** The form, which closes the dialog when it is done. */
  children: (close: () => void) => ReactNode
}

/** A button, usually the primary one of a page, and the dialog it opens. */
export function CreateDialog({
  label,
  icon: Icon = Plus,
  variant = 'primary',
  title,
  description,
  shortcut,
  wide = false,
  children,
}: CreateDialogProps) {
  const [open, setOpen] = useState(false)
  useShortcuts(shortcut ? [{ keys: 'c', label: shortcut, group: 'List', run: () => setOpen(true) }] : [])
  return (
    <>
      <Button variant={variant} size="sm" onClick={() => setOpen(true)}>
        <Icon aria-hidden="true" />
        {label}
      </Button>
      <Dialog title={title} description={description} open={open} onOpenChange={setOpen} wide={wide}>
        {children(() => setOpen(false))}
      </Dialog>
    </>
  )
}
