import { X } from 'lucide-react'
import { usePreference } from '../../session/preferences.ts'
import { useConfirmAddress } from '../../session/use-confirm-address.ts'
import { Button, IconButton } from '../../ui/form/button.tsx'
import { Banner } from '../../ui/notice/banner.tsx'

/** One line until the address is confirmed or the line is closed. The account menu keeps its dot. */
export function ConfirmAddress() {
  const confirmation = useConfirmAddress()
  const [isClosed, setIsClosed] = usePreference('confirm-address-closed', false)
  if (!confirmation || isClosed) return null
  const { email, isSandbox, isAtOnce, label, run } = confirmation
  return (
    <Banner
      action={
        <span className="flex items-center gap-1">
          {(isAtOnce || !isSandbox) && (
            <Button size="sm" onClick={run}>
              {label}
            </Button>
          )}
          <IconButton label="Close" onClick={() => setIsClosed(true)}>
            <X />
          </IconButton>
        </span>
      }
    >
      {isAtOnce
        ? `Is ${email} your address? This server sends no email, so you can confirm it here.`
        : isSandbox
          ? `${email} is not confirmed. This server sends no email: its operator has the link.`
          : `Confirm ${email}: the link is in your mailbox.`}
    </Banner>
  )
}
