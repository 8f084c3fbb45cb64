import { Popover as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { focusElsewhere } from './menu.tsx'

type PopoverProps = {
  trigger: ReactNode
  label: string
  open?: boolean
  onOpenChange?: (open: boolean) => void
  align?: 'start' | 'end'
  wide?: boolean
  /** Moves the focus elsewhere than back to the trigger. */
  onClosed?: () => void
  children: ReactNode
}

/** A small panel beside its trigger, for a short choice or a look. */
export function Popover({ trigger, label, open, onOpenChange, align = 'start', wide = false, onClosed, children }: PopoverProps) {
  return (
    <Radix.Root {...(open !== undefined && { open })} {...(onOpenChange && { onOpenChange })}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          aria-label={label}
          align={align}
          sideOffset={4}
          collisionPadding={12}
          {...(onClosed && { onCloseAutoFocus: focusElsewhere(onClosed) })}
          className={`z-50 max-h-(--radix-popover-content-available-height) overflow-y-auto rounded-lg border border-line bg-surface p-1 text-ui shadow-float outline-none motion-safe:animate-rise ${wide ? 'w-[min(32rem,calc(100vw-1.5rem))]' : 'w-64'}`}
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
