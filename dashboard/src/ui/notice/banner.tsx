import { CircleCheck, Info, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'

const TONES = {
  info: { className: 'bg-accent-soft text-ink', icon: <Info className="text-accent" />, role: 'status' },
  good: { className: 'bg-good-soft text-good', icon: <CircleCheck />, role: 'status' },
  warning: { className: 'bg-warning-soft text-warning', icon: <TriangleAlert />, role: 'status' },
  danger: { className: 'bg-danger-soft text-danger', icon: <TriangleAlert />, role: 'alert' },
}

export function Banner({ tone = 'info', action, children }: { tone?: keyof typeof TONES; action?: ReactNode; children: ReactNode }) {
  const { className, icon, role } = TONES[tone]
  return (
    <div role={role} className={`flex flex-wrap items-center gap-x-4 gap-y-2 rounded-lg px-3 py-2 text-ui ${className}`}>
      <span className="flex min-w-0 flex-1 basis-64 gap-2 [&>svg]:mt-0.5 [&>svg]:size-4 [&>svg]:shrink-0">
        {icon}
        <span className="min-w-0 wrap-break-word">{children}</span>
      </span>
      {action}
    </div>
  )
}
