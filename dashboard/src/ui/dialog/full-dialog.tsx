import { X } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import { type ReactNode, useRef } from 'react'
import { buttonClass } from '../form/button.tsx'

type FullDialogProps = {
  title: string
  /** Called to close it. Open while mounted. */
  onClose: () => void
  /** The element to focus when it is closed: the one that opened it may be gone. */
  returnFocus?: () => HTMLElement | null
  actions?: ReactNode
  children: ReactNode
}

/** Covers the page, for work that needs all of it: its header stands where that of a page stands. */
export function FullDialog({ title, onClose, returnFocus, actions, children }: FullDialogProps) {
  const content = useRef<HTMLDivElement>(null)
  const focusFirst = () => content.current?.querySelector<HTMLElement>('input, textarea, select')?.focus()
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Content
          ref={content}
          aria-describedby={undefined}
          className="fixed inset-0 z-40 overflow-y-auto bg-canvas outline-none"
          onOpenAutoFocus={(event) => {
            event.preventDefault()
            focusFirst()
          }}
          onCloseAutoFocus={(event) => {
            if (!returnFocus) return
            event.preventDefault()
            returnFocus()?.focus()
          }}
          // In a text Escape belongs to its editor: it closes a menu, or chooses the block.
          onEscapeKeyDown={(event) => event.target instanceof HTMLElement && event.target.isContentEditable && event.preventDefault()}
        >
          <header className="sticky top-0 z-20 flex h-12 items-center gap-3 border-line border-b bg-surface px-4 sm:px-6 lg:h-14 lg:px-8">
            <Radix.Title className="min-w-0 flex-1 truncate font-semibold text-title">{title}</Radix.Title>
            {actions}
            <Radix.Close
              aria-label="Close"
              className="flex size-8 shrink-0 items-center justify-center rounded-md text-muted hover:bg-sunken hover:text-ink pointer-coarse:size-11"
            >
              <X className="size-4" />
            </Radix.Close>
          </header>
          {children}
          {/* Tab leads from the last control to the first. It could not leave a frame that is the last. */}
          <button type="button" className={`${buttonClass()} sr-only focus:not-sr-only focus:m-4`} onClick={focusFirst}>
            Back to the top
          </button>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
