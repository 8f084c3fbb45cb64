import { useQuery } from '@tanstack/react-query'
import { CircleUser, LockKeyhole, LogOut } from 'lucide-react'
import { useState } from 'react'
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../ui/menu.tsx'
import { ChangePasswordDialog } from './change-password.tsx'
import { meQuery } from './queries.ts'
import { signOut } from './sign-out.ts'

/** `wide` shows the address beside the icon. */
export function UserMenu({ wide = false }: { wide?: boolean }) {
  const me = useQuery(meQuery)
  const [changingPassword, setChangingPassword] = useState(false)
  const trigger = (
    <button
      type="button"
      aria-label="Your account"
      className={`flex h-10 min-w-10 items-center gap-2.5 rounded-lg px-2.5 text-muted text-sm hover:bg-sunken hover:text-ink ${wide ? 'min-w-0 flex-1' : ''}`}
    >
      <CircleUser className="size-4.5 shrink-0" aria-hidden="true" />
      {wide && <span className="truncate">{me.data?.email}</span>}
    </button>
  )
  return (
    <>
      <Menu trigger={trigger} align={wide ? 'start' : 'end'}>
        <MenuLabel>Signed in as {me.data?.email}</MenuLabel>
        <MenuItem onSelect={() => setChangingPassword(true)}>
          <LockKeyhole aria-hidden="true" />
          Change password
        </MenuItem>
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
