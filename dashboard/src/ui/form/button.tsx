import { LoaderCircle } from 'lucide-react'
import type { ComponentProps } from 'react'

const VARIANTS = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong',
  secondary: 'border border-line bg-surface text-ink hover:bg-sunken',
  quiet: 'text-muted hover:bg-sunken hover:text-ink',
  danger: 'bg-danger-fill text-white hover:brightness-110',
}
/** 32 px in toolbars, 36 px in forms; 44 px for fingers. */
const SIZES = { sm: 'h-8 px-2.5', md: 'h-9 px-3.5' }

export type Variant = keyof typeof VARIANTS
type Size = keyof typeof SIZES

/** For links that should look like buttons. */
export function buttonClass(variant: Variant = 'secondary', size: Size = 'md') {
  return `inline-flex shrink-0 items-center justify-center gap-1.5 whitespace-nowrap rounded-md font-medium text-ui transition-colors duration-100 disabled:cursor-not-allowed disabled:opacity-60 pointer-coarse:h-11 [&>svg]:size-4 [&>svg]:shrink-0 ${SIZES[size]} ${VARIANTS[variant]}`
}

type ButtonProps = ComponentProps<'button'> & { variant?: Variant; size?: Size; busy?: boolean }

/** While it is busy it keeps the focus, which a disabled button would lose, and ignores clicks. */
export function Button({ variant, size, busy = false, className = '', onClick, children, ...props }: ButtonProps) {
  return (
    <button
      type="button"
      className={`${buttonClass(variant, size)} ${busy ? 'cursor-progress opacity-60' : ''} ${className}`}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      // Prevented, so that the form of a submit button is not sent twice.
      onClick={busy ? (event) => event.preventDefault() : onClick}
      {...props}
    >
      {busy && <LoaderCircle className="animate-spin" aria-hidden="true" />}
      {children}
    </button>
  )
}

type IconButtonProps = Omit<ComponentProps<'button'>, 'aria-label' | 'title'> & { label: string; hint?: string }

/** `hint` is added to the tooltip, such as the shortcut. */
export function IconButton({ label, hint, className = '', ...props }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={hint ? `${label} (${hint})` : label}
      className={`inline-flex size-8 shrink-0 items-center justify-center rounded-md text-muted transition-colors duration-100 hover:bg-sunken hover:text-ink disabled:cursor-not-allowed disabled:opacity-60 pointer-coarse:size-11 [&>svg]:size-4 ${className}`}
      {...props}
    />
  )
}
