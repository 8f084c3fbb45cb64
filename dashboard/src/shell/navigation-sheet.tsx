import { Menu as MenuIcon, X } from 'lucide-react'
import { Dialog } from 'radix-ui'
import { useState } from 'react'
import { IconButton } from '../ui/form/button.tsx'
import { Logo } from '../ui/page/logo.tsx'
import { DoctorLink, Navigation, SettingsLink } from './navigation.tsx'
import { ProjectSwitcher } from './project-switcher.tsx'

/** The side navigation on narrow screens. */
export function NavigationSheet() {
  const [open, setOpen] = useState(false)
  return (
    <Dialog.Root open={open} onOpenChange={setOpen}>
      <Dialog.Trigger asChild>
        <IconButton label="Open navigation">
          <MenuIcon />
        </IconButton>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-[#04131a]/55 motion-safe:animate-fade" />
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed inset-y-0 left-0 z-40 flex w-72 max-w-[85vw] flex-col gap-3 overflow-y-auto bg-surface p-3 shadow-float outline-none motion-safe:animate-slide"
        >
          <div className="flex items-center justify-between">
            <Dialog.Title className="px-2">
              <Logo />
              <span className="sr-only"> navigation</span>
            </Dialog.Title>
            <Dialog.Close asChild>
              <IconButton label="Close navigation">
                <X />
              </IconButton>
            </Dialog.Close>
          </div>
          <ProjectSwitcher />
          <Navigation onNavigate={() => setOpen(false)} />
          <DoctorLink onNavigate={() => setOpen(false)} />
          <SettingsLink onNavigate={() => setOpen(false)} />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
