import { useQuery } from '@tanstack/react-query'
import { CircleUser, Keyboard, KeyboardOff, LockKeyhole, LogOut, MailCheck } from 'lucide-react'
import { useState } from 'react'
import { meQuery } from '../data/account.ts'
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../ui/dialog/menu.tsx'
import { toast } from '../ui/dialog/toast.tsx'
import { areShortcutsOn, turnShortcuts } from '../ui/shortcuts/shortcuts.ts'
import { ChangePasswordDialog } from './change-password.tsx'
import { signOut } from './sign-out.ts'
import { useConfirmAddress } from './use-confirm-address.ts'

/** `wide` shows the address beside the icon; `onSheet` opens the list of shortcuts, on pages that have some. */
export function UserMenu({ wide = false, onSheet }: { wide?: boolean; onSheet?: () => void }) {
  const me = useQuery(meQuery)
  const confirmation = useConfirmAddress()
  const [changingPassword, setChangingPassword] = useState(false)
  const trigger = (
    <button
      type="button"
      title={me.data?.email}
      className={`flex h-8 min-w-8 items-center gap-2 rounded-md px-2 text-muted text-ui hover:bg-sunken hover:text-ink pointer-coarse:h-11 pointer-coarse:min-w-11 ${wide ? 'min-w-0 flex-1' : 'justify-center'}`}
    >
      <span className="relative shrink-0">
        <CircleUser className="size-4" aria-hidden="true" />
        {confirmation && <span className="absolute -top-0.5 -right-0.5 size-2 rounded-full bg-warning ring-2 ring-surface" />}
      </span>
      <span className="sr-only">Your account{confirmation && ', address not confirmed'}</span>
      {wide && <span className="truncate">{me.data?.email}</span>}
    </button>
  )
  return (
    <>
      <Menu trigger={trigger} align={wide ? 'start' : 'end'}>
        <MenuLabel>Signed in as {me.data?.email}</MenuLabel>
        {confirmation && (
          <MenuItem onSelect={confirmation.run}>
            <MailCheck aria-hidden="true" />
            {confirmation.isAtOnce ? 'Confirm your address' : 'Resend the link to confirm your address'}
          </MenuItem>
        )}
        <MenuItem onSelect={() => setChangingPassword(true)}>
          <LockKeyhole aria-hidden="true" />
          Change password
        </MenuItem>
        {onSheet && <ShortcutItems onSheet={onSheet} />}
        <MenuSeparator />
        <MenuItem onSelect={() => signOut()}>
          <LogOut aria-hidden="true" />
          Sign out
        </MenuItem>
      </Menu>
      <ChangePasswordDialog open={changingPassword} onOpenChange={setChangingPassword} />
    </>
  )
}

function ShortcutItems({ onSheet }: { onSheet: () => void }) {
  const isOn = areShortcutsOn()
  function toggle() {
    turnShortcuts(!isOn)
    toast(isOn ? 'Single-key shortcuts are off' : 'Single-key shortcuts are on')
  }
  return (
    <>
      <MenuItem onSelect={onSheet}>
        <Keyboard aria-hidden="true" />
        Keyboard shortcuts
      </MenuItem>
      <MenuItem onSelect={toggle}>
        <KeyboardOff aria-hidden="true" />
        Turn single-key shortcuts {isOn ? 'off' : 'on'}
      </MenuItem>
    </>
  )
}
