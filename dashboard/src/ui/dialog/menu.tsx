import { Ellipsis } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import type { ComponentProps, ReactNode } from 'react'
import { IconButton } from '../form/button.tsx'

type MenuProps = {
  trigger: ReactNode
  align?: 'start' | 'end'
  /** For a menu whose parent decides when it is open. */
  open?: boolean
  onOpenChange?: (open: boolean) => void
  /** The page says where the focus goes when the menu closes; else it returns to the trigger. */
  leavesFocus?: boolean
  /** Moves the focus elsewhere than back to the trigger. */
  onClosed?: () => void
  children: ReactNode
}

export function Menu({ trigger, align = 'start', open, onOpenChange, leavesFocus = false, onClosed, children }: MenuProps) {
  return (
    <DropdownMenu.Root {...(open !== undefined && { open })} {...(onOpenChange && { onOpenChange })}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={4}
          collisionPadding={12}
          onCloseAutoFocus={(event) => (onClosed ? focusElsewhere(onClosed)(event) : leavesFocus && event.preventDefault())}
          className="z-50 max-h-(--radix-dropdown-menu-content-available-height) min-w-48 max-w-80 overflow-y-auto rounded-lg border border-line bg-surface p-1 shadow-float outline-none motion-safe:animate-rise"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

/** For what opens: the focus does not go back to its trigger. */
export const focusElsewhere = (focus: () => void) => (event: Event) => {
  event.preventDefault()
  focus()
}

/** The menu at the end of the header of a page. */
export function MoreActions({ children }: { children: ReactNode }) {
  return (
    <Menu
      align="end"
      trigger={
        <IconButton label="More actions">
          <Ellipsis />
        </IconButton>
      }
    >
      {children}
    </Menu>
  )
}

export function MenuItem({ className = '', ...props }: ComponentProps<typeof DropdownMenu.Item>) {
  return (
    <DropdownMenu.Item
      className={`flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 text-ui pointer-coarse:min-h-11 outline-none data-highlighted:bg-sunken [&>svg]:size-4 [&>svg]:shrink-0 [&>svg]:text-muted ${className}`}
      {...props}
    />
  )
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return <DropdownMenu.Label className="truncate px-2 py-1.5 text-muted text-xs">{children}</DropdownMenu.Label>
}

export function MenuSeparator() {
  return <DropdownMenu.Separator className="-mx-1 my-1 h-px bg-line" />
}
