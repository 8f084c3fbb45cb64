import { LoaderCircle } from 'lucide-react'
import type { ComponentProps } from 'react'

const VARIANTS = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong',
  secondary: 'border border-line bg-surface text-ink shadow-card hover:bg-sunken',
  quiet: 'text-muted hover:bg-sunken hover:text-ink',
  danger: 'bg-danger-fill text-white hover:brightness-110',
}

export type Variant = keyof typeof VARIANTS

/** For links that should look like buttons. */
export function buttonClass(variant: Variant = 'secondary') {
  return `inline-flex min-h-10 items-center justify-center gap-2 rounded-lg px-4 font-medium text-sm transition-colors disabled:cursor-not-allowed disabled:opacity-60 ${VARIANTS[variant]}`
}

type ButtonProps = ComponentProps<'button'> & { variant?: Variant; busy?: boolean }

export function Button({ variant, busy = false, disabled, className = '', children, ...props }: ButtonProps) {
  return (
    <button
      type="button"
      className={`${buttonClass(variant)} ${className}`}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      {...props}
    >
      {busy && <LoaderCircle className="size-4 animate-spin" aria-hidden="true" />}
      {children}
    </button>
  )
}

type IconButtonProps = Omit<ComponentProps<'button'>, 'aria-label' | 'title'> & { label: string }

export function IconButton({ label, className = '', ...props }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={`inline-flex size-10 shrink-0 items-center justify-center rounded-lg text-muted transition-colors hover:bg-sunken hover:text-ink disabled:cursor-not-allowed disabled:opacity-60 [&>svg]:size-4.5 ${className}`}
      {...props}
    />
  )
}
